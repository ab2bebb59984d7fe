import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { examine, type FileStamp } from "./file-stamp.js";
import { TrackedFile } from "./tracked-file.js";

const stamp: FileStamp = {
  realPath: "/flags/a.json",
  isLink: false,
  size: 2,
  identity: "1",
  version: "1",
  changedMs: 0,
};

/** Notes what a scan of a directory found that took a millisecond. */
function note(file: TrackedFile, found: FileStamp | undefined, beganMs: number, isRenamed = false): void {
  file.note(found, { beganMs, endedMs: beganMs + 1, isRescan: false, areSettled: false, isRenamed });
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

  describe("whose content is asked for once more", () => {
    const directory = new TempDirectory();
    after(() => directory.remove());
    const at = directory.file("a.json");

    /** A file whose content was reported. */
    async function read(): Promise<TrackedFile> {
      directory.replace("a.json", "{}");
      const found = await examine(at, directory.path);
      if (typeof found !== "object") throw new Error("no file");
      const file = new TrackedFile(at, 100);
      note(file, found, 0);
      note(file, found, 100);
      expect(await file.event(101, () => false)).to.include({ kind: "content" });
      return file;
    }

    for (const [by, ask] of [
      ["its listener", (file: TrackedFile) => file.retry()],
      ["who has all files reported again", (file: TrackedFile) => file.forget(150)],
    ] as const)
      it(`is reported gone if it goes before that, when asked for by ${by}`, async () => {
        const file = await read();
        ask(file);
        note(file, undefined, 200);
        note(file, undefined, 300);
        expect(file.isForgotten).to.equal(false);
        expect(await file.event(301, () => false)).to.include({ kind: "gone", path: at });
        expect(file.isForgotten).to.equal(true);
      });
  });

  it("is told of again after twice as many re-scans each time, when its listener asks for it over and over", async () => {
    const directory = new TempDirectory();
    try {
      directory.replace("a.json", "{}");
      const found = await examine(directory.file("a.json"), directory.path);
      if (typeof found !== "object") throw new Error("no file");
      const file = new TrackedFile(directory.file("a.json"), 100);
      note(file, found, 0);
      note(file, found, 100);
      await file.event(101, () => false);
      file.retry();
      const rescans: number[] = [];
      for (let rescan = 1; rescan <= 50; rescan++) {
        file.note(found, { beganMs: 150, endedMs: 151, isRescan: true, areSettled: false, isRenamed: false });
        if (!file.isReady) continue;
        expect(await file.event(200, () => false)).to.include({ kind: "content", isRetry: true });
        file.retry();
        rescans.push(rescan);
      }
      expect(rescans).to.deep.equal([1, 3, 7, 15, 31, 47]);
    } finally {
      directory.remove();
    }
  });

  describe("after one rename", () => {
    const directory = new TempDirectory();
    after(() => directory.remove());
    const at = directory.file("a.json");
    /** A file that a scan found in the place of another after one rename. */
    async function renamed(text: string, before: (found: FileStamp) => FileStamp): Promise<TrackedFile> {
      directory.replace("a.json", text);
      const found = await examine(at, directory.path);
      if (typeof found !== "object") throw new Error("no file");
      const file = new TrackedFile(at, 100);
      note(file, before(found), 0);
      note(file, found, 100, true);
      return file;
    }

    it("is read at once", async () => {
      const file = await renamed("{}", ({ realPath }) => ({ ...stamp, realPath }));
      expect(file.isReady).to.equal(true);
      expect(await file.event(101, () => false)).to.include({ kind: "content", path: at });
    });

    it("rests where another event comes before it is read: it was removed, and is being created", async () => {
      const file = await renamed("{}", ({ realPath }) => ({ ...stamp, realPath }));
      expect(await file.event(101, () => true)).to.equal(undefined);
      expect(file.restedMs).to.equal(126);
    });

    it("rests where it is empty, or the file that it was: the event is of its creation", async () => {
      expect((await renamed("", ({ realPath }) => ({ ...stamp, realPath }))).isReady).to.equal(false);
      const grown = await renamed("{}", ({ realPath, identity }) => ({ ...stamp, realPath, identity }));
      expect(grown.isReady).to.equal(false);
    });
  });
});
