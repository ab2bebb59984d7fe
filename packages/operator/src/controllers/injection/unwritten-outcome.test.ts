import { KubeError } from "@bunting/kube";
import { expect } from "chai";
import type { TextOutcome } from "../../desired/injection.js";
import { portEntry } from "../../pod/injection-entry.fixture.js";
import type { StoredSpec } from "../../pod/injection-request.js";
import { isRefusal, unwrittenOutcome } from "./unwritten-outcome.js";

const error = new KubeError("FORBIDDEN", "the API server answered 403 Forbidden: exceeded quota");
const request = { list: "sources", text: "app" } as const;
const compiled: TextOutcome = { entry: portEntry, plan: undefined, problems: [] };

function stored(digest: string): readonly StoredSpec[] {
  return [{ spec: { format: 1, sources: { app: { ...portEntry, digest } }, inProcess: {} } }];
}

describe("unwrittenOutcome", () => {
  it("has the entry that is stored, and says what the API server said", () => {
    const { entry, problems } = unwrittenOutcome(compiled, request, { stored: stored("before"), error });
    expect(entry?.digest).to.equal("before");
    expect(problems.map(({ reason }) => reason)).to.deep.equal(["NotWritten"]);
    expect(problems[0]?.message).to.contain("what was written before").and.to.contain("exceeded quota");
  });

  it("has none where there is none", () => {
    const { entry, problems } = unwrittenOutcome(compiled, request, { stored: [], error });
    expect(entry).to.equal(undefined);
    expect(problems[0]?.message).to.contain("what the webhook has for them");
  });

  it("leaves alone what is stored as it was compiled, and what was refused before", () => {
    const same = { stored: stored(portEntry.digest), error };
    expect(unwrittenOutcome(compiled, request, same)).to.equal(compiled);
    const refused: TextOutcome = { ...compiled, entry: undefined };
    expect(unwrittenOutcome(refused, request, { stored: [], error })).to.equal(refused);
  });

  it("takes no outage of the API server for a refusal", () => {
    expect(isRefusal(error)).to.equal(true);
    expect(isRefusal(new KubeError("INVALID", "too large"))).to.equal(true);
    expect(isRefusal(new KubeError("CONNECTION_LOST", "away"))).to.equal(false);
    expect(isRefusal(new Error("no"))).to.equal(false);
  });
});
