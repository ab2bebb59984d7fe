import { Informer, type InformerOptions, type KubeObject, type ResourceScope } from "@bunting/kube";
import type { RunningInformer } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import {
  securityAccess,
  securityStates,
  type SecurityState,
} from "../../desired/proxy-security/security-state.js";
import { SecurityWatch } from "./security-watch.js";
import { securityConfigMap } from "./stored-security.js";

const epoch = 1;

/** A watch of an API server that says what a test has it say. */
class ScriptedWatch {
  scope: ResourceScope | undefined;
  reads = 0;
  #informer: Informer | undefined;
  #version = 0;

  inform<Object extends KubeObject = KubeObject, Index extends string = never>(
    scope: ResourceScope,
    options: InformerOptions<Object, Index>,
  ): RunningInformer<Object, Index> {
    const informer = new Informer<Object, Index>(options);
    this.scope = scope;
    this.#informer = informer as unknown as Informer;
    const readAgain = (): Promise<void> => {
      this.reads++;
      return Promise.resolve();
    };
    return { name: "security", informer, readAgain, run: aborted };
  }

  /** The first read is complete: there is this state, or none. */
  read(state?: SecurityState): void {
    const read = this.#informer?.beginRead();
    if (state !== undefined) read?.add(this.#object(state), String(this.#version));
    read?.complete(String(this.#version), epoch);
  }

  write(state: string): void {
    const object = this.#object(state);
    this.#informer?.event({ type: "MODIFIED", object, resourceVersion: String(this.#version) }, epoch);
  }

  delete(): void {
    const object = this.#object("off");
    this.#informer?.event({ type: "DELETED", object, resourceVersion: String(this.#version) }, epoch);
  }

  #object(state: string): KubeObject {
    const security = { state: state as SecurityState, sinceMs: 0, waitsFor: "" };
    return securityConfigMap("flags", security, String(++this.#version));
  }
}

describe("SecurityWatch", () => {
  let cluster: ScriptedWatch;
  let logger: ReturnType<typeof recordingLogger>;
  let watch: SecurityWatch;
  let heard: (string | undefined)[];

  beforeEach(() => {
    cluster = new ScriptedWatch();
    logger = recordingLogger();
    watch = new SecurityWatch({ watches: cluster, namespace: "flags", context: { logger } });
    heard = [];
    watch.onChange(() => heard.push(watch.podAccess));
  });

  it("watches one ConfigMap of the operator's namespace, which tenants can't write", () => {
    expect(cluster.scope).to.include({ namespace: "flags", name: "bunting-proxy-security" });
  });

  it("knows nothing before the ConfigMap was read, and that nothing is secured where there is none", async () => {
    expect(watch.podAccess).to.equal(undefined);
    cluster.read();
    await watch.whenSynced;
    expect(watch.podAccess).to.equal("plain");
    expect(heard).to.deep.equal([]);
  });

  for (const state of securityStates) {
    it(`gives Pods what they get in ${state}, also on a replica that starts in it`, () => {
      const { pods } = securityAccess[state];
      cluster.read(state);
      expect(watch.podAccess).to.equal(pods);
      cluster.write("off");
      cluster.write(state);
      expect(watch.podAccess).to.equal(pods);
    });
  }

  it("tells when what Pods get has changed, and not of each state", () => {
    cluster.read();
    for (const state of [
      "opening",
      "mixed",
      "closing",
      "on",
      "reopening",
      "mixed",
      "leaving",
      "ending",
      "off",
    ])
      cluster.write(state);
    expect(heard).to.deep.equal(["secured", "plain"]);
  });

  it("tells nobody who listens no more", () => {
    const later: unknown[] = [];
    watch.onChange(() => later.push(watch.podAccess))();
    cluster.read();
    cluster.write("on");
    expect(later).to.deep.equal([]);
    expect(heard).to.deep.equal(["secured"]);
  });

  it("goes by what it knew where the ConfigMap is deleted, or others have written it", () => {
    cluster.read();
    cluster.write("on");
    cluster.delete();
    expect(watch.podAccess).to.equal("secured");
    expect(logger.lines).to.deep.equal([]);
    cluster.write("open");
    expect(watch.podAccess).to.equal("secured");
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(["warn"]);
    cluster.write("leaving");
    expect(heard).to.deep.equal(["secured", "plain"]);
  });

  it("reads again when it is asked to, as a new leader asks", async () => {
    await watch.readAgain();
    expect(cluster.reads).to.equal(1);
  });
});
