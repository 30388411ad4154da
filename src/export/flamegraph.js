(function () {
    "use strict";
    // Each frame carries "start,total,depth" in units of the graph; positions follow from them and the zoom.
    var MARGIN = 10, CHARACTER = 7.25, PADDING = 4;
    var svg = document.currentScript.ownerSVGElement;
    var details = svg.querySelector(".details"), matched = svg.querySelector("#matched");
    var reset = svg.querySelector("#reset"), input = svg.querySelector("input");
    var tools = svg.querySelector("#tools");
    var frames = Array.prototype.map.call(svg.querySelectorAll("#frames > g"), function (g) {
        var place = g.getAttribute("data-at").split(",").map(Number);
        return {
            g: g, rect: g.querySelector("rect"), text: g.querySelector("text"),
            start: place[0], total: place[1], depth: place[2],
            words: g.querySelector("title").textContent.split("\n")
        };
    });
    if (!frames.length)
        return;
    var root = frames[0], focus = root, width = 0;
    frames.forEach(function (frame) {
        frame.g.__frame = frame;
        frame.g.querySelector("title").remove();  // the line above the graph says it at once
    });

    function cut(text, room) {
        var characters = Math.floor((room - 2 * PADDING) / CHARACTER), list = Array.from(text);
        if (list.length <= characters)
            return text;
        return characters < 3 ? "" : list.slice(0, characters - 1).join("") + "…";
    }

    function place(frame) {
        var scale = (width - 2 * MARGIN) / focus.total;
        var left = Math.max(frame.start, focus.start), right = Math.min(frame.start + frame.total, focus.start + focus.total);
        var size = (right - left) * scale;
        var visible = size >= 0.4;
        frame.g.classList.toggle("hidden", !visible);
        if (!visible)
            return;
        var x = MARGIN + (left - focus.start) * scale;
        frame.rect.setAttribute("x", x.toFixed(2));
        frame.rect.setAttribute("width", Math.max(size - 0.6, 0.4).toFixed(2));
        frame.text.setAttribute("x", (x + PADDING).toFixed(2));
        frame.text.textContent = cut(frame.words[0], size);
        frame.g.classList.toggle("dim", frame.depth < focus.depth);
    }

    function layout() {
        width = svg.getBoundingClientRect().width || 1200;
        tools.setAttribute("transform", "translate(" + (width - MARGIN - 250) + " 10)");
        frames.forEach(place);
        reset.classList.toggle("hidden", focus === root);
    }

    function zoom(frame) {
        focus = frame;
        layout();
    }

    function show(frame) {
        details.textContent = frame ? cut(frame.words.join(" · "), width - 2 * MARGIN) : " ";
    }

    function expression(text) {
        try {
            return new RegExp(text, "i");
        } catch (error) {
            return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
        }
    }

    // Frames are in depth-first order: what lies inside a match that was counted must not be counted again.
    function search() {
        var wanted = input.value ? expression(input.value) : null, sum = 0, end = -1, count = 0;
        frames.forEach(function (frame) {
            var found = wanted !== null && wanted.test(frame.words[0]);
            frame.g.classList.toggle("found", found);
            if (!found)
                return;
            count++;
            if (frame.start >= end) {
                sum += frame.total;
                end = frame.start + frame.total;
            }
        });
        matched.textContent = wanted === null ? "" :
            count + (count === 1 ? " match, " : " matches, ") + (100 * sum / root.total).toFixed(1) + "%";
    }

    function frame_at(event) {
        var g = event.target.closest ? event.target.closest("#frames > g") : null;
        return g ? g.__frame : null;
    }

    svg.removeAttribute("viewBox");
    svg.setAttribute("width", "100%");
    tools.classList.remove("hidden");
    svg.addEventListener("mouseover", function (event) { show(frame_at(event)); });
    svg.addEventListener("click", function (event) {
        var frame = frame_at(event);
        if (frame)
            zoom(frame);
    });
    reset.addEventListener("click", function () { zoom(root); });
    input.addEventListener("input", search);
    window.addEventListener("resize", layout);
    window.addEventListener("keydown", function (event) {
        if (event.key === "Escape") {
            input.value = "";
            input.blur();
            search();
            zoom(root);
        } else if ((event.key === "f" && (event.ctrlKey || event.metaKey)) ||
                   (event.key === "/" && event.target !== input)) {
            event.preventDefault();
            input.focus();
            input.select();
        }
    });
    layout();
})();
