import { expect } from "chai";
import { BackplaneError } from "../backplane-error.js";
import { unlimitedRoom } from "../record/unlimited-room.fixture.js";
import { RefusedRecord } from "./refused-record.js";

const malformed = new BackplaneError("RECORD_MALFORMED", "it is no JSON");
const at = (resourceVersion: string) => ({ epoch: 1, resourceVersion });

describe("RefusedRecord", () => {
  it("is read again with the next comparison, and ever more rarely as long as it can't be used", () => {
    let refused = new RefusedRecord(malformed, unlimitedRoom);
    const reads: number[] = [];
    for (let comparison = 0; comparison < 160; comparison++)
      if (refused.isWorthReading(at("5"))) {
        reads.push(comparison);
        refused = new RefusedRecord(malformed, unlimitedRoom, refused);
      }
    expect(reads).to.deep.equal([0, 2, 6, 14, 30, 62, 103, 144]);
  });

  it("is read again as soon as Redis holds another version", () => {
    let refused = new RefusedRecord(malformed, unlimitedRoom);
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(refused.isWorthReading(at("5"))).to.equal(attempt === 0);
      refused = new RefusedRecord(malformed, unlimitedRoom, refused);
    }
    expect(refused.isWorthReading(at("5"))).to.equal(false);
    expect(refused.isWorthReading(at("6"))).to.equal(true);
  });

  it("is not read again before there is room, and then at once", () => {
    let freeBytes = 10;
    const room = { has: (bytes: number) => bytes <= freeBytes, freeBytes };
    const noRoom = new BackplaneError("RECORD_NO_ROOM", "no room", { neededBytes: 100 });
    const refused = new RefusedRecord(noRoom, room, new RefusedRecord(noRoom, room));
    expect([at("5"), at("5"), at("6")].map((position) => refused.isWorthReading(position))).to.deep.equal([
      false,
      false,
      false,
    ]);
    freeBytes = 100;
    expect(refused.isWorthReading(at("6"))).to.equal(true);
  });
});
