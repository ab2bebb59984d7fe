import { expect } from "chai";
import { remoteStates, remoteVerdicts, type ToldRemote } from "./remote-verdicts.js";

function brief(...told: readonly (ToldRemote | undefined)[]): readonly string[] {
  return remoteVerdicts(told).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

describe("remoteVerdicts", () => {
  it("say nothing of a FeatureFlag without a remote, or whose remote nobody reads", () => {
    expect(brief()).to.deep.equal([]);
    expect(brief(undefined, {})).to.deep.equal([]);
  });

  it("have a reason for each state that a proxy knows", () => {
    expect(remoteStates.map((state) => brief({ state })[0])).to.deep.equal([
      "RemoteSynced False Starting",
      "RemoteSynced True Synced",
      "RemoteSynced False Stale",
      "RemoteSynced False NeverAnswered",
      "RemoteSynced False CredentialsForbidden",
      "RemoteSynced False EmptyAnswerHeld",
    ]);
  });

  it("say of a Secret that may not be read what its owner does about that", () => {
    const verdicts = remoteVerdicts([{ state: "forbidden", message: "Secret shop/remote may not be read." }]);
    expect(verdicts.map(({ type }) => type)).to.deep.equal(["RemoteSynced", "CredentialsForbidden"]);
    expect(verdicts[1]?.message).to.match(
      /^Secret shop\/remote may not be read\. The owner .* bunting grant credentials/,
    );
  });

  it("say what the proxy says, and what is served", () => {
    const [verdict] = remoteVerdicts([undefined, { state: "stale", message: "It answered 503" }]);
    expect(verdict?.message).to.equal("It answered 503. What it answered last is served.");
    const [synced] = remoteVerdicts([{ state: "synced", message: "It answered 503." }]);
    expect(synced?.message).to.equal("The remote flag provider has answered. Since then: It answered 503.");
  });

  it("say what is served otherwise than the sides say, whatever the state is", () => {
    const remarks = 'what the remote sent is left out: "bad"';
    for (const state of remoteStates)
      expect(remoteVerdicts([{ state, remarks }])[0]?.message, state).to.contain(` ${remarks}.`);
  });

  it("say the worst while one replica takes over from another", () => {
    expect(brief({ state: "synced" }, { state: "never" })).to.deep.equal([
      "RemoteSynced False NeverAnswered",
    ]);
  });

  it("say of a word that only a later proxy knows that it is not known, unless another replica says one that is", () => {
    const [verdict] = remoteVerdicts([{}, { state: "paused", message: "It is paused" }]);
    expect(verdict).to.deep.equal({
      type: "RemoteSynced",
      status: "Unknown",
      reason: "StateUnknown",
      message: `The proxy says that it is "paused", which an operator of this version does not know. It is paused.`,
    });
    expect(brief({ state: "paused" }, { state: "stale" })).to.deep.equal(["RemoteSynced False Stale"]);
  });
});
