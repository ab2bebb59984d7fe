import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { expect } from "chai";
import { isReady, startAgent } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { scaled } from "../support/scale.js";
import { startProxy } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { HostilePeer } from "./support/hostile-peer.js";
import { managementAttacks, metricsRequest, probe } from "./support/management-attacks.js";
import { mebibyte, Vitals } from "./support/vitals.js";

const attackers = 1_000;
/** Those that ask for zipped metrics on 90 streams each. */
const zipping = scaled(200, 60);
/** So often probes are sent while the attackers come. */
const probings = 4;
/** The port has room for 45 connections; without a bound, all attackers would have one. */
const maxConnections = 80;

interface Service {
  readonly process: ServiceProcess;
  readonly management: string;
}

const services: Readonly<Record<string, (directory: TempDirectory) => Promise<Service>>> = {
  // An eighth of the budget is the management port's: 1 MiB, as much as the agent's has in its image.
  proxy: async (directory) => {
    const args = ["--peer-memory=8Mi", "--drain-delay=0", "--drain-window=0"];
    return startProxy(directory.path, args);
  },
  agent: async (directory) => {
    const args = ["--uri", `file:${directory.file("flags.json")}`];
    return startAgent(args);
  },
};

for (const [name, start] of Object.entries(services)) {
  describe(`the management port of the ${name}, answering probes while hundreds of peers`, () => {
    let directory: TempDirectory;
    let service: Service;
    let vitals: Vitals;
    let descriptors: number;
    const sockets: Socket[] = [];

    before(async () => {
      directory = new TempDirectory();
      const file = name === "proxy" ? "flags.yaml" : "flags.json";
      directory.replace(file, name === "proxy" ? manifest("flags", 1) : '{"flags":{}}');
      service = await start(directory);
      await eventually(() => isReady(service.management), "it is ready");
      vitals = new Vitals(service.process.pid);
      descriptors = descriptorsOf(service.process.pid);
    });
    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.destroy();
    });
    after(async () => {
      vitals.stop();
      const exitCode = await service.process.stop();
      directory.remove();
      expect(exitCode, service.process.output).to.equal(0);
    });

    for (const [what, attack] of Object.entries(managementAttacks)) {
      it(what, async () => {
        vitals.markWarm();
        const port = Number(new URL(service.management).port);
        const count = attack.attackers ?? attackers;
        const perProbing = count / probings;
        for (let index = 1; index <= count; index++) {
          sockets.push(await attack.connect(port));
          if (index % perProbing > 0) continue;
          if (index === perProbing) vitals.markWarm();
          for (const path of ["/healthz", "/readyz", "/metrics"])
            expect(await probe(service.management + path), `${path} after ${index} attackers`).to.equal(200);
        }
        expect(descriptorsOf(service.process.pid) - descriptors, "connections").to.be.below(maxConnections);
        if (attack.answersEach === undefined) return;
        const answers = (count - perProbing) * attack.answersEach;
        const answerBytes = (await (await fetch(`${service.management}/metrics`)).text()).length;
        vitals.expectGrowth({ below: 48, attack: (answers * answerBytes) / mebibyte });
      });
    }

    it("ask for zipped metrics on all the streams that they may have", async () => {
      vitals.markWarm();
      const port = Number(new URL(service.management).port);
      for (let index = 0; index < zipping; index++) {
        const peer = await HostilePeer.connect(port);
        sockets.push(peer.socket);
        await peer.send(
          Buffer.concat(Array.from({ length: 90 }, () => metricsRequest(peer.takeStreamId(), "gzip"))),
        );
        if (index % 20 === 0) expect(await probe(`${service.management}/healthz`)).to.equal(200);
      }
      expect(await probe(`${service.management}/healthz`)).to.equal(200);
      // What deflate takes for each, whatever there is to zip.
      vitals.expectGrowth({ below: 64, attack: (zipping * 90 * 256) / 1024 });
    });

    // A bound of connections alone would let each of them hold any number of answers.
    it("leave more and more answers unread, for which they are ended", async () => {
      const peer = await HostilePeer.connect(Number(new URL(service.management).port), { windowBytes: 0 });
      sockets.push(peer.socket);
      await eventually(async () => {
        await peer.send(metricsRequest(peer.takeStreamId()));
        return peer.isClosed;
      }, "the peer to be ended");
    });
  });
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
