// What leaves the page: text to the clipboard, files to the disk.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** For pages that may not use the clipboard directly. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}

export function saveFile(name: string, data: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** One cell. A name that a spreadsheet would compute (=…) is made plain text. */
function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(rows: Iterable<(string | number)[]>): string {
  return Array.from(rows, (row) => row.map(cell).join(",") + "\r\n").join("");
}

/** "run.sonde" → "run", to name what is saved after the recording. */
export function stem(name: string): string {
  return name.replace(/.*\//, "").replace(/\.(sonde|prof|json|txt|html)$/i, "") || "sonde";
}
