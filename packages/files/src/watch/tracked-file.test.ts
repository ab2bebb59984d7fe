import { expect } from "chai";
import type { FileStamp } from "./file-stamp.js";
import { TrackedFile } from "./tracked-file.js";

const stamp: FileStamp = { realPath: "/flags/a.json", isLink: false, size: 2, version: "1", changedMs: 0 };

/** Notes what a scan of a directory found that took a millisecond. */
function note(file: TrackedFile, found: FileStamp | undefined, beganMs: number): void {
  file.note(found, { beganMs, endedMs: beganMs + 1, isRescan: false, areSettled: false });
}

describe("TrackedFile", () => {
  it("may have moved to a file that the scan saw which confirmed its absence, however late that scan came", () => {
    const [gone, moved] = [new TrackedFile("/flags/a.json", 100), new TrackedFile("/flags/sub/a.json", 100)];
    note(gone, stamp, 0);
    note(gone, undefined, 100);
    note(gone, undefined, 5_000);
    note(moved, stamp, 5_000);
    expect(gone.isReady).to.equal(true);
    expect(gone.mayHaveMovedTo(moved)).to.equal(true);
    note(moved, stamp, 5_030);
    expect(gone.mayHaveMovedTo(moved), "when the other has rested").to.equal(false);
  });

  it("has not moved to a file that appeared after its absence was confirmed", () => {
    const [gone, later] = [new TrackedFile("/flags/a.json", 100), new TrackedFile("/flags/b.json", 100)];
    note(gone, stamp, 0);
    note(gone, undefined, 100);
    note(gone, undefined, 130);
    note(later, stamp, 135);
    expect(gone.mayHaveMovedTo(later)).to.equal(false);
  });
});
