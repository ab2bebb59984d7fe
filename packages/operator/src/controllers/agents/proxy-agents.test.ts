import { Informer, type InformerOptions, type KubeObject } from "@bunting/kube";
import type { ResourceScope, RunningInformer } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { ProxyAgents } from "./proxy-agents.js";

describe("ProxyAgents", () => {
  it("asks nobody in a later term of the leader before it has read which Pods there are by then", async () => {
    const informers: Informer[] = [];
    const asked: string[] = [];
    const inform = <Object extends KubeObject, Index extends string>(
      _scope: ResourceScope,
      options: InformerOptions<Object, Index>,
    ): RunningInformer<Object, Index> => {
      const informer = new Informer<Object, Index>(options);
      informers.push(informer as unknown as Informer);
      return { name: "Pods", informer, readAgain: () => Promise.resolve(), run: aborted };
    };
    const proxies = new ProxyAgents({
      watches: { inform },
      settings: { namespace: "flags", ports: { sync: 8015, management: 8016 } },
      token: () => "t",
      context: { clock: new ManualClock(), logger: recordingLogger() },
      read: ({ host }) => {
        asked.push(host);
        return Promise.resolve([]);
      },
    });
    const signal = new AbortController().signal;
    const isReadIn = async (podIP: string): Promise<boolean> => {
      const read = informers.at(-1)?.beginRead();
      read?.add({ metadata: { namespace: "flags", name: "p", uid: podIP }, status: { podIP } }, "1");
      read?.complete("1", 1);
      return (await proxies.read(signal)) !== undefined;
    };
    const first = new AbortController();
    const term = proxies.run(first.signal);
    expect(await isReadIn("10.1.0.1")).to.equal(true);
    first.abort();
    await term;
    const second = new AbortController();
    const later = proxies.run(second.signal);
    expect(await proxies.read(signal)).to.equal(undefined);
    expect(await isReadIn("10.1.0.2")).to.equal(true);
    expect(asked).to.deep.equal(["10.1.0.1", "10.1.0.2"]);
    second.abort();
    await later;
  });
});
