import { expect } from "chai";
import { nextRemoteState, type RemoteEvent, type RemoteState } from "./remote-state.js";

const failure = { reason: "Status", message: "503" };
const states: readonly RemoteState[] = [
  { kind: "starting" },
  { kind: "synced" },
  ...(["stale", "never", "forbidden", "held"] as const).map((kind) => ({ kind, failure })),
];
const other = { reason: "Other", message: "other" };

/** The state after each event, from the state before it: with a document, and without. */
function after(event: RemoteEvent): Record<string, string> {
  return Object.fromEntries(
    states.map((state) => {
      const kinds = [true, false].map((hasDocument) => nextRemoteState(state, event, hasDocument).kind);
      return [state.kind, [...new Set(kinds)].join(" or ")];
    }),
  );
}

describe("the state of a remote", () => {
  it("is synced after each answer, whatever was before", () => {
    expect(new Set(Object.values(after({ kind: "answered" })))).to.deep.equal(new Set(["synced"]));
    expect(nextRemoteState({ kind: "stale", failure }, { kind: "answered" }, true).failure).to.equal(
      undefined,
    );
  });

  it("stays synced through failures until three intervals are over; otherwise it is stale with a document, and never without", () => {
    const failing = "stale or never";
    const failed = {
      starting: failing,
      synced: "synced",
      stale: failing,
      never: failing,
      forbidden: failing,
      held: failing,
    };
    expect(after({ kind: "failed", failure })).to.deep.equal(failed);
    const overdue = {
      ...failed,
      synced: failing,
      stale: "stale",
      never: "never",
      forbidden: "forbidden",
      held: "held",
    };
    expect(after({ kind: "overdue", failure })).to.deep.equal(overdue);
  });

  it("is forbidden or held by these events alone", () => {
    expect(new Set(Object.values(after({ kind: "forbidden", failure })))).to.deep.equal(
      new Set(["forbidden"]),
    );
    expect(new Set(Object.values(after({ kind: "emptied", failure })))).to.deep.equal(new Set(["held"]));
  });

  it("gives as the reason the last failure, rather than that it is long ago", () => {
    const failed = nextRemoteState({ kind: "synced" }, { kind: "failed", failure }, true);
    expect(nextRemoteState(failed, { kind: "overdue", failure: other }, true)).to.deep.equal({
      kind: "stale",
      failure,
    });
    expect(nextRemoteState({ kind: "synced" }, { kind: "overdue", failure: other }, true).failure).to.equal(
      other,
    );
    expect(
      nextRemoteState({ kind: "stale", failure }, { kind: "failed", failure: other }, true).failure,
    ).to.equal(other);
  });
});
