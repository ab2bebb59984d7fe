import { expect } from "chai";
import { classifyChange, type Change, type Look } from "./classify-change.js";
import type { FileStamp } from "./file-stamp.js";

const nowMs = 1_800_000_000_000;
const nowNs = BigInt(nowMs) * 1_000_000n;

function stamp(fields: Partial<FileStamp> = {}): FileStamp {
  return {
    realPath: "/flags/a.yaml",
    isLink: false,
    device: 1n,
    inode: 7n,
    bornNs: nowNs - 3_000_000n,
    size: 10n,
    modifiedNs: nowNs - 2_000_000n,
    changedNs: nowNs - 2_000_000n,
    ...fields,
  };
}

const quiet = { renames: 0, changes: 0 };
const renamed = { renames: 1, changes: 0 };
const other = { inode: 8n };

const cases: readonly [string, Partial<Look>, Change][] = [
  ["nothing that stays nothing", { after: undefined }, "none"],
  ["a name that came and went", { after: undefined, events: { renames: 2, changes: 1 } }, "none"],
  ["a file that vanished", { before: stamp(), after: undefined, events: renamed }, "absent"],
  ["a file nobody touched", { before: stamp(), after: stamp() }, "none"],
  ["a file renamed over another", { before: stamp(), after: stamp(other), events: renamed }, "whole"],
  [
    "a file removed and created anew",
    { before: stamp(), after: stamp(other), events: { renames: 2, changes: 0 } },
    "writing",
  ],
  [
    "a file renamed over another and then written to",
    { before: stamp(), after: stamp(other), events: { renames: 1, changes: 1 } },
    "writing",
  ],
  [
    "several files renamed over one, with times that say so",
    { before: stamp(), after: stamp({ ...other, changedNs: nowNs }), events: { renames: 2, changes: 0 } },
    "whole",
  ],
  ["a file that is being created", { after: stamp({ size: 0n }), events: renamed }, "writing"],
  ["a file whose first write is under way", { after: stamp(), events: renamed }, "writing"],
  ["a finished file renamed to a new name", { after: stamp({ changedNs: nowNs }), events: renamed }, "whole"],
  [
    "a new file whose mode was changed",
    { after: stamp({ changedNs: nowNs }), events: { renames: 1, changes: 1 } },
    "writing",
  ],
  [
    "a write in place",
    { before: stamp(), after: stamp({ size: 11n }), events: { renames: 0, changes: 1 } },
    "writing",
  ],
  ["a write in place that no event told of", { before: stamp(), after: stamp({ size: 11n }) }, "writing"],
  [
    "an event after which the file is as before",
    { before: stamp(), after: stamp(), events: renamed },
    "writing",
  ],
  [
    "a file found without an event, left alone for long",
    { after: stamp({ modifiedNs: nowNs - 10n ** 9n, changedNs: nowNs - 10n ** 9n }) },
    "whole",
  ],
  ["a file found without an event, just written", { after: stamp() }, "writing"],
  [
    "a file found without an event, old but just moved here",
    { after: stamp({ modifiedNs: nowNs - 10n ** 9n }) },
    "writing",
  ],
  ["a file from the future", { after: stamp({ modifiedNs: nowNs + 10n ** 12n }) }, "writing"],
  [
    "a link that leads to another file",
    {
      before: stamp({ isLink: true, realPath: "/v/1" }),
      after: stamp({ ...other, isLink: true, realPath: "/v/2" }),
    },
    "whole",
  ],
  [
    "a folder's link that leads to another folder",
    { before: stamp({ realPath: "/v1/a.yaml" }), after: stamp({ ...other, realPath: "/v2/a.yaml" }) },
    "whole",
  ],
  [
    "a link replaced by a file that is being created",
    {
      before: stamp({ isLink: true, realPath: "/v/1" }),
      after: stamp(other),
      events: { renames: 2, changes: 0 },
    },
    "writing",
  ],
];

describe("classifyChange", () => {
  for (const [what, look, change] of cases) {
    it(`takes ${what} for "${change}"`, () => {
      expect(classifyChange({ before: undefined, after: stamp(), events: quiet, nowMs, ...look })).to.equal(
        change,
      );
    });
  }
});
