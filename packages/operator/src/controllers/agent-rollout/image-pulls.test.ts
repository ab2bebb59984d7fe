import { KubeError } from "@bunting/kube";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { newImage, rolloutOf } from "../../upgrade/fleet.fixture.js";
import type { FleetPull } from "../../upgrade/fleet.js";
import type { PullPlan } from "../../upgrade/plan-pulls.js";
import { ImagePulls } from "./image-pulls.js";

const signal = new AbortController().signal;
const old: FleetPull = { name: "old", rollout: "r", node: "n", image: "i", createdMs: 0, state: "pulled" };
const nothing: PullPlan = { create: [], remove: [], troubled: [], dueMs: Infinity };

describe("ImagePulls", () => {
  let calls: string[];
  let users: unknown[];
  let error: KubeError | undefined;
  beforeEach(() => {
    [calls, users, error] = [[], [], undefined];
  });

  function usePulls(choosesUser = true): ImagePulls {
    const answer = (): Promise<never> =>
      error === undefined ? Promise.resolve({} as never) : Promise.reject(error);
    const client = {
      create: ({ namespace }: { readonly namespace?: string }, object: object) => {
        const { spec } = object as {
          readonly spec: { readonly nodeName: string; readonly securityContext: { runAsUser?: number } };
        };
        calls.push(`create ${namespace} ${spec.nodeName}`);
        users.push(spec.securityContext.runAsUser);
        return answer();
      },
      delete: ({ name }: { readonly name: string }) => {
        calls.push(`delete ${name}`);
        return answer();
      },
    };
    const context = { clock: new ManualClock(), logger: recordingLogger() };
    const own = { namespace: "bunting", pullSecrets: [], place: () => Promise.resolve({ choosesUser }) };
    return new ImagePulls({ client, ...own, context });
  }
  const make = (pulls: ImagePulls, plan: Partial<PullPlan>): Promise<void> =>
    pulls.make({ ...nothing, ...plan }, rolloutOf(), signal);
  const known = (pulls: ImagePulls): readonly FleetPull[] => pulls.withRefused([]);

  it("creates one Pod a node in its own namespace, and deletes those of no more use", async () => {
    const pulls = usePulls();
    await make(pulls, { create: ["a", "b"], remove: [old] });
    expect(calls).to.deep.equal(["delete old", "create bunting a", "create bunting b"]);
    expect(pulls.withRefused([old])).to.deep.equal([old]);
  });

  it("leaves the user of these Pods to OpenShift", async () => {
    await make(usePulls(), { create: ["a"] });
    await make(usePulls(false), { create: ["a"] });
    expect(users).to.deep.equal([65532, undefined]);
  });

  it("takes it for done where the Pod is there, or gone, already", async () => {
    const pulls = usePulls();
    error = new KubeError("CONFLICT", "it exists");
    await make(pulls, { create: ["a"] });
    expect(known(pulls)).to.deep.equal([]);
    error = new KubeError("NOT_FOUND", "it is gone");
    await make(pulls, { remove: [old] });
  });

  it("counts a Pod that is refused as one that has failed, until it is to be tried again", async () => {
    const pulls = usePulls();
    error = new KubeError("FORBIDDEN", "exceeded quota");
    await make(pulls, { create: ["a"] });
    const [refused] = known(pulls);
    expect(refused).to.deep.include({
      node: "a",
      image: newImage,
      state: "failed",
      trouble: "exceeded quota",
    });
    calls = [];
    await make(pulls, { remove: refused === undefined ? [] : [refused] });
    expect([calls, known(pulls)]).to.deep.equal([[], []]);
  });

  it("forgets what was refused for a rollout that was deleted", async () => {
    const pulls = usePulls();
    error = new KubeError("FORBIDDEN", "exceeded quota");
    await make(pulls, { create: ["a"] });
    pulls.keep(new Set([rolloutOf().uid, "another"]));
    expect(known(pulls)).to.have.length(1);
    pulls.keep(new Set(["another"]));
    expect(known(pulls)).to.deep.equal([]);
  });

  it("fails where no API server can be asked", async () => {
    error = new KubeError("CONNECTION_REFUSED", "away");
    expect(await make(usePulls(), { create: ["a"] }).catch((thrown: unknown) => thrown)).to.equal(error);
  });
});
