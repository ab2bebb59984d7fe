import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { KubeError } from "../kube-error.js";
import type { RawRequest } from "../rest/rest-client.js";
import { Discovery } from "./discovery.js";

const signal = new AbortController().signal;

describe("Discovery", () => {
  let clock: ManualClock;
  let asked: string[];
  let answer: (path: string) => unknown;
  let discovery: Discovery;

  beforeEach(() => {
    clock = new ManualClock();
    asked = [];
    answer = () => ({
      resources: [
        { name: "gateways", kind: "Gateway" },
        { name: "gateways/status", kind: "Gateway" },
      ],
    });
    const raw = ({ path }: RawRequest): Promise<unknown> => {
      asked.push(path);
      return new Promise((resolve) => resolve(answer(path)));
    };
    discovery = new Discovery({ client: { raw }, clock });
  });

  const gateways = { group: "gateway.networking.k8s.io", version: "v1", plural: "gateways" };

  it("knows what is served, and asks once a minute for all types of a group", async () => {
    const kinds = await Promise.all([
      discovery.kindOf(gateways, signal),
      discovery.kindOf({ ...gateways, plural: "httproutes" }, signal),
    ]);
    expect(kinds).to.deep.equal(["Gateway", undefined]);
    expect(await discovery.serves(gateways, signal)).to.equal(true);
    expect(asked).to.deep.equal(["/apis/gateway.networking.k8s.io/v1"]);
    clock.advance(60_000);
    answer = () => ({ resources: [] });
    expect(await discovery.serves(gateways, signal)).to.equal(false);
    expect(asked).to.have.length(2);
  });

  it("asks for the core group under another path", async () => {
    answer = () => ({ resources: [{ name: "pods", kind: "Pod" }] });
    expect(await discovery.serves({ group: "", version: "v1", plural: "pods" }, signal)).to.equal(true);
    expect(asked).to.deep.equal(["/api/v1"]);
  });

  it("takes a group that is not there for one that serves nothing", async () => {
    answer = () => {
      throw new KubeError("NOT_FOUND", "the server could not find the requested resource");
    };
    expect(await discovery.serves(gateways, signal)).to.equal(false);
  });

  it("passes failures on, and asks again after one", async () => {
    answer = () => {
      throw new KubeError("FORBIDDEN", "no");
    };
    const failure = await discovery.serves(gateways, signal).catch((error: unknown) => error);
    expect((failure as KubeError).code).to.equal("FORBIDDEN");
    answer = () => ({ resources: [{ name: "gateways", kind: "Gateway" }] });
    expect(await discovery.serves(gateways, signal)).to.equal(true);
  });
});
