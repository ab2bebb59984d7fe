import { expect } from "chai";
import type { SecurityWait } from "../../desired/proxy-security/security-state.js";
import { waitSentence, type WaitSight } from "./wait-sentence.js";

const names = ["a", "b", "c", "d", "e", "f"];
const nobody = { count: 0, first: [] };
const sight: WaitSight = { proxies: { others: [] }, pods: undefined, lacking: undefined };
const say = (wait: SecurityWait, seen: Partial<WaitSight> = {}): string =>
  waitSentence(wait, { ...sight, ...seen });

describe("waitSentence", () => {
  it("is empty where nothing is waited for", () => {
    expect(say("nothing")).to.equal("");
  });

  it("names the namespaces without the authority, and is about its making before there is one", () => {
    expect(say("authority")).to.match(/are being made$/);
    expect(say("authority", { lacking: [] })).to.match(/are being made$/);
    expect(say("authority", { lacking: names })).to.equal(
      "the ConfigMap bunting-ca is not yet in 6 namespaces: a, b, c, d, e, …",
    );
  });

  it("names the Pods of the proxy that are not replaced yet, or waits for its Deployment", () => {
    expect(say("proxies", { proxies: { others: ["p1", "p2"] } })).to.equal(
      "2 Pods of the proxy that are not replaced yet: p1, p2",
    );
    expect(say("proxies")).to.equal("the rollout of the proxy's Deployment");
  });

  it("says how many Pods hold it up, names the first, and what is to be done", () => {
    const plain = { count: 12, first: names.slice(0, 5) };
    const text = say("plainPods", { pods: { plain, secured: nobody } });
    expect(text).to.match(
      /^12 Pods ask the proxy without a token.*kubectl rollout restart.*: a, b, c, d, e, …$/,
    );
    const secured = { count: 1, first: ["shop/a"] };
    expect(say("securedPods", { pods: { plain, secured } })).to.match(/^1 Pods speak TLS.*: shop\/a$/);
  });

  it("waits for everybody to hear of it before Pods are looked at", () => {
    for (const wait of ["settling", "plainPods", "securedPods"] as const)
      expect(say(wait)).to.match(/^Injections, and everybody who lets Pods in/);
  });
});
