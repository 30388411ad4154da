// The time in the regions of a program, as a list; a click shows what was done in one alone.

import type { JSX } from "preact";

import type { Answer } from "./answer";
import { useAnswer } from "./asking";
import { shortName } from "./names";
import { count, perCent, time } from "./numbers";
import type { Recording } from "./recording";
import { process, region, REGION_WORDS, thread, toggleRegion } from "./state";
import { regionName } from "./tracks";

const SHOWN = 20;

function decode(answer: Answer) {
  return {
    region: answer.numbers("region"),
    calls: answer.reals("calls"),
    total: answer.amounts("total"),
    self: answer.amounts("self"),
    mean: answer.amounts("mean"),
    share: answer.shares("share"),
  };
}

export function Regions({ recording }: { recording: Recording }): JSX.Element | null {
  const has = recording.summary.regions.length > 1;
  const request = { ask: "region_sums", recording: recording.number, thread: thread.value, process: process.value };
  const sums = useAnswer(has ? request : null, decode, [recording]);
  if (!has || !sums?.region.length) return null;
  const rows = [...sums.region.slice(0, SHOWN)].map((number, row) => ({ name: regionName(recording, number), row }));
  return (
    <section class="wide">
      <h2>
        Time by region <small>{sums.region.length > SHOWN ? `the longest ${SHOWN} of ${count(sums.region.length)}` : ""}</small>
      </h2>
      <table class="recordings regions" aria-label="time by region">
        <thead>
          <tr>
            <th scope="col">region</th>
            <th scope="col">calls</th>
            <th scope="col">total</th>
            <th scope="col" title="threads added up: several at a time make more than all of it">
              of the run
            </th>
            <th scope="col">without those inside</th>
            <th scope="col">mean</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, row }) => (
            <tr key={name}>
              <th scope="row">
                <button type="button" class="framed" aria-pressed={region.value === name} title={`${shortName(name, 1000)}: ${REGION_WORDS}`} onClick={() => toggleRegion(name)}>
                  <bdi>{shortName(name, 60)}</bdi>
                </button>
              </th>
              <td>{count(sums.calls[row])}</td>
              <td>{time(sums.total[row])}</td>
              <td>{perCent(sums.share[row])}</td>
              <td>{time(sums.self[row])}</td>
              <td>{time(sums.mean[row])}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
