import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Authority } from "@bunting/test/support/certificates.js";
import { TokenIssuer } from "@bunting/test/support/token-issuer.js";
import { makeFlagSet } from "./fixtures/flag-set.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { digits, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { processMemory, type ProcessMemory } from "./support/processor.js";
import { startAgent } from "./support/start-agent.js";
import { startProxy, watchedFile } from "./support/start-proxy.js";
import { median, spread } from "./support/statistics.js";

export const agentIdentityCase: BenchCase = {
  name: "agent-identity",
  method:
    "The shipped agent under the V8 flags of the image's entrypoint gets its flags from the shipped proxy, three times in turns: in plaintext; over TLS, trusting the authority of a file; and over TLS " +
    "with a ServiceAccount token in each request. Both are restarted for each run. Idle is measured 5 s after the agent became ready.",
  run: runAgentIdentity,
};

const variants = ["plaintext", "TLS", "TLS and a token"] as const;
type Variant = (typeof variants)[number];
type Samples = Record<Variant, ProcessMemory[]>;

async function runAgentIdentity({ isQuick, parameters, cores, progress }: RunOptions): Promise<CaseOutcome> {
  const flags = countParameter(parameters, "flags", isQuick ? 100 : 1_000);
  const runs = countParameter(parameters, "runs", isQuick ? 1 : 5);
  const idleMs = isQuick ? 500 : 5_000;
  const folder = mkdtempSync(path.join(tmpdir(), "bunting-bench-"));
  const samples: Samples = { plaintext: [], TLS: [], "TLS and a token": [] };
  try {
    watchedFile(folder)(makeFlagSet(flags).document);
    const settings = await writeSettings(folder);
    for (let run = 1; run <= runs; run++)
      for (const variant of variants) {
        const { proxyArgs, agentArgs } = settings[variant];
        const proxy = await startProxy(path.join(folder, "watched"), cores.load, proxyArgs);
        try {
          const uri = `localhost:${proxy.port}`;
          const sources = JSON.stringify([{ uri, provider: "grpc", selector: "default/bench" }]);
          const agent = await startAgent(["--sources", sources, ...agentArgs], cores.measured);
          try {
            await agent.untilReady();
            await delay(idleMs);
            const memory = processMemory(agent.process.pid);
            samples[variant].push(memory);
            progress(
              `run ${run} of ${runs}, ${variant}: ${digits(memory.rssMb)} (${digits(memory.privateMb)}) MB`,
            );
          } finally {
            await agent.process.stop();
          }
        } finally {
          await proxy.process.stop();
        }
      }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    setup: [`${flags.toLocaleString("en")} flags`, `${runs} runs of each`, cores.description],
    tables: [table(samples)],
    targets: [],
    warnings: [],
    invalid: [],
    samples,
  };
}

interface Settings {
  readonly proxyArgs: readonly string[];
  readonly agentArgs: readonly string[];
}

/** Writes what the processes read, and says how they are told. */
async function writeSettings(folder: string): Promise<Record<Variant, Settings>> {
  const authority = await Authority.create();
  const { cert, key } = await authority.issue();
  const write = (name: string, content: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const tls = {
    proxyArgs: [
      "--tls=on",
      ...["--tls-cert-path", write("tls.crt", cert), "--tls-key-path", write("tls.key", key)],
    ],
    agentArgs: ["--ca-file", write("ca.crt", authority.cert)],
  };
  // The proxy need not verify it: what that takes is not the agent's.
  const token = ["--token-file", write("token", new TokenIssuer().issue("default", "bench", 3_600))];
  return {
    plaintext: { proxyArgs: [], agentArgs: [] },
    TLS: tls,
    "TLS and a token": { ...tls, agentArgs: [...tls.agentArgs, ...token] },
  };
}

function table(samples: Samples): CaseOutcome["tables"][number] {
  const cell = (variant: Variant, of: (memory: ProcessMemory) => number): string[] => {
    const values = samples[variant].map(of);
    const more = median(values) - median(samples.plaintext.map(of));
    return [
      range(spread(values)),
      variant === "plaintext" ? "" : `${more < 0 ? "-" : "+"}${digits(Math.abs(more))}`,
    ];
  };
  return {
    title: "Memory of an idle agent, in MB: median (min–max), and the difference of the medians to plaintext",
    columns: ["connection to the proxy", "RSS", "RSS more", "of it private", "private more"],
    rows: variants.map((variant) => [
      variant,
      ...cell(variant, ({ rssMb }) => rssMb),
      ...cell(variant, ({ privateMb }) => privateMb),
    ]),
  };
}
