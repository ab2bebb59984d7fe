import { Evaluator } from "@bunting/evaluation";
import { aborted, createLogger, createRegistry, readOptions } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { agentPrometheusMetrics } from "../management/prometheus-metrics.js";
import { agentOptionTable } from "../options.js";
import { OnDemandSource } from "../sync/on-demand-source.js";
import type { SourceConfig } from "../sync/source-config.js";
import type { SourceState } from "../sync/source-state.js";
import type { SourceRemote, SyncSourceOptions } from "../sync/sync-source.js";
import * as agentParts from "./agent-parts.js";
import { FlagGenerations } from "./flag-generations.js";
import { sourceConfigsOf, sourceSignals } from "./stored-flags.js";

const twoFlags = `{"x":${aFlag()},"y":${aFlag()}}`;

describe("FlagGenerations", () => {
  const { signal } = new AbortController();
  let stop: () => Promise<void>;
  afterEach(() => stop());

  /** A source that does this when it begins, and no more. */
  function played(config: SourceConfig, options: SyncSourceOptions, begin: (state: SourceState) => void) {
    return new OnDemandSource(config, options, ({ state }, until) => {
      begin(state);
      return aborted(until);
    });
  }

  /** The generations of an agent with these options, whose components have started. */
  async function start(argv: readonly string[], createSources: typeof agentParts.createSources) {
    const clock = new ManualClock();
    const { options } = await readOptions(agentOptionTable, { argv, env: {} });
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const registry = createRegistry(false);
    const context = { clock, logger, metrics: agentPrometheusMetrics(registry) };
    const wiring = { options, parts: { ...agentParts, createSources }, context };
    const configs = sourceConfigsOf(wiring);
    const evaluator = new Evaluator({ clock });
    /** The sources that evaluations were told are stale. */
    const told: (readonly number[])[] = [];
    evaluator.setStale = (sources) => told.push([...sources]);
    const signals = sourceSignals(clock);
    const generations = new FlagGenerations({ wiring, evaluator, configs, sourceList: undefined, signals });
    const fail = (error: unknown): void => expect.fail(String(error));
    stop = async () => {
      for (const component of generations.components()) await component.stop();
    };
    for (const component of generations.components()) await component.start(fail, signal);
    return { generations, configs, clock, registry, told };
  }

  it("counts a source that stays in another list as away for as long as it has been: it is not fresh again", async () => {
    const argv = ["--uri", "file:gone.json", "--uri", "file:here.json", "--stale-after", "60s"];
    /** The first file is there in no list. */
    const createSources: typeof agentParts.createSources = (configs, createOptions) =>
      configs.map((config) =>
        played(config, createOptions, (state) => {
          if (config.uri.includes("here")) state.documentReceived();
        }),
      );
    const { generations, configs, clock, registry, told } = await start(argv, createSources);
    clock.advance(59_000);
    const turned = [...configs].reverse().map((config, sourceIndex) => ({ ...config, sourceIndex }));
    await generations.switchTo(turned, signal);
    clock.advance(1_000);
    expect(told.at(-1), "of the second place").to.deep.equal([1]);
    await generations.switchTo(configs, signal);
    expect(told.at(-1), "of the first place, at once").to.deep.equal([0]);
    expect(generations.served().map(({ isStale }) => isStale)).to.deep.equal([true, false]);
    expect(await registry.metrics()).to.contain('bunting_agent_sync_unconfirmed_seconds{source="0"} 60\n');
  });

  it("says of no place whether it is connected that a source of a list had which is gone, and which ones are still empty", async () => {
    const argv = ["--uri", "file:a.json", "--uri", "file:b.json"];
    /** Sources without a document; one that is away says so by a failure. */
    const createSources: typeof agentParts.createSources = (configs, createOptions) =>
      configs.map((config) =>
        played(config, createOptions, (state) => {
          if (config.uri.includes("slow")) return;
          state.connected();
          if (config.uri.includes("a.json")) state.failed("not_found", "there is none");
          else {
            state.documentReceived();
            createOptions.receiver.answered(config.sourceIndex);
          }
        }),
      );
    const { generations, configs, registry } = await start(argv, createSources);
    const series = async (name: string): Promise<readonly string[]> =>
      [...(await registry.metrics()).matchAll(new RegExp(`^bunting_agent_sync_${name}{source="(.*)`, "gm"))]
        .map(([, rest]) => rest ?? "")
        .sort();
    const [a, b] = [configs[0] ?? expect.fail(), configs[1] ?? expect.fail()];
    const slow = { ...b, uri: "file:slow.json", sourceIndex: 2 };
    const again = { ...b, sourceIndex: 3 };
    const givenUp = new AbortController();
    const given = generations.switchTo([a, b, slow, again], givenUp.signal);
    await new Promise(setImmediate);
    expect(await series("connected"), "while the list is waited for").to.deep.equal(['0"} 0', '1"} 1']);
    givenUp.abort();
    expect(await given).to.equal(false);
    expect(await series("connected")).to.deep.equal(['0"} 0', '1"} 1']);
    expect(await series("empty")).to.deep.equal(['0"} 1', '1"} 0']);
    await generations.switchTo([a], signal);
    expect(await series("connected")).to.deep.equal(['0"} 0']);
    expect(await series("last_document_timestamp_seconds")).to.deep.equal([]);
    await generations.switchTo([{ ...b, sourceIndex: 0 }], signal);
    expect(await series("connected")).to.deep.equal(['0"} 1']);
    expect(await series("last_document_timestamp_seconds")).to.have.length(1);
  });

  it("says of no place what a remote had there which has moved to another place of another list", async () => {
    const argv = ["--uri", "file:a.json", "--uri", "file:b.json"];
    const createSources: typeof agentParts.createSources = (configs, createOptions) =>
      configs.map((config) =>
        played(config, createOptions, (state) => {
          const { receiver } = createOptions;
          const { sourceIndex } = config;
          if (config.uri.includes("b.json")) {
            state.follows(() => ({ state: "synced", flags: { local: 0, remote: 3 } }));
            receiver.deliver({ sourceIndex, bytes: Buffer.from('{"flags":{}}') });
          }
          receiver.answered(sourceIndex);
        }),
      );
    const { generations, configs, registry } = await start(argv, createSources);
    const [a, b] = [configs[0] ?? expect.fail(), configs[1] ?? expect.fail()];
    const remote = remoteAt(b);
    await generations.switchTo([a, remote], signal);
    await generations.switchTo([{ ...remote, sourceIndex: 0 }], signal);
    const shown = (await registry.metrics())
      .split("\n")
      .filter((line) => /^bunting_agent_remote_(flags|state)\{.*[^0]$/.test(line));
    expect(shown).to.deep.equal([
      'bunting_agent_remote_state{source="0",state="synced"} 1',
      'bunting_agent_remote_flags{source="0",side="remote"} 3',
    ]);
  });

  it("says of a remote in its place of another list what that one is like, once it is served, and what the one before was until then", async () => {
    const remotes: Record<string, SourceRemote> = {
      "b.json": { state: "synced", flags: { local: 1, remote: 3 } },
      "c.json": { state: "never" },
    };
    const createSources: typeof agentParts.createSources = (configs, createOptions) =>
      configs.map((config) =>
        played(config, createOptions, (state) => {
          const { receiver, context } = createOptions;
          const { sourceIndex } = config;
          const { remoteState, remoteFlags } = context.metrics.remotes();
          const remote = remotes[config.uri];
          if (remote !== undefined) {
            state.follows(() => remote);
            remoteState(sourceIndex, remote.state ?? "");
            receiver.deliver({ sourceIndex, bytes: Buffer.from(`{"flags":${twoFlags}}`) });
            remoteFlags(sourceIndex, "remote", remote.flags?.remote ?? 0);
          }
          if (!config.uri.includes("slow")) receiver.answered(sourceIndex);
        }),
      );
    const { generations, configs, registry } = await start(
      ["--uri", "file:a.json", "--uri", "file:b.json"],
      createSources,
    );
    const [a, b] = [configs[0] ?? expect.fail(), remoteAt(configs[1] ?? expect.fail())];
    const shown = async (): Promise<readonly string[]> =>
      (await registry.metrics())
        .split("\n")
        .filter((line) => /^bunting_agent_remote_(flags.*|state.* 1)$/.test(line))
        .map((line) => line.replace("bunting_agent_remote_", ""))
        .sort();
    await generations.switchTo([a, b], signal);
    const ofB = [
      'flags{source="1",side="local"} 1',
      'flags{source="1",side="remote"} 3',
      'state{source="1",state="synced"} 1',
    ];
    expect(await shown()).to.deep.equal(ofB);
    const c = { ...b, uri: "c.json" };
    const givenUp = new AbortController();
    const given = generations.switchTo(
      [a, c, { ...a, uri: "file:slow.json", sourceIndex: 2 }],
      givenUp.signal,
    );
    await new Promise(setImmediate);
    expect(await shown(), "while the list is waited for").to.deep.equal(ofB);
    givenUp.abort();
    await given;
    expect(await shown(), "when it is given up").to.deep.equal(ofB);
    await generations.switchTo([a, c], signal);
    expect(await shown()).to.deep.equal([
      'flags{source="1",side="local"} 2',
      'flags{source="1",side="remote"} 0',
      'state{source="1",state="never"} 1',
    ]);
  });

  it("keeps the time of the last document of a source that stays and is away: that is when it counts", async () => {
    const argv = ["--uri", "file:a.json", "--uri", "file:b.json"];
    let isAway = false;
    const createSources: typeof agentParts.createSources = (configs, createOptions) =>
      configs.map((config) =>
        played(config, createOptions, (state) => {
          if (isAway && config.uri.includes("a.json")) state.failed("unavailable", "away");
          else state.documentReceived();
          createOptions.receiver.answered(config.sourceIndex);
        }),
      );
    const { generations, configs, clock, registry } = await start(argv, createSources);
    const [a, b] = [configs[0] ?? expect.fail(), configs[1] ?? expect.fail()];
    const before = clock.now() / 1_000;
    clock.advance(60_000);
    isAway = true;
    for (const list of [
      [
        { ...b, sourceIndex: 0 },
        { ...a, sourceIndex: 1 },
      ],
      [a, b],
    ])
      await generations.switchTo(list, signal);
    const times = [...(await registry.metrics()).matchAll(/^bunting_agent_sync_last_document.*{(.*)$/gm)];
    expect(times.map(([, rest]) => rest)).to.deep.equal([
      `source="0"} ${before}`,
      `source="1"} ${before + 60}`,
    ]);
  });

  it("gives what a source remembers to the one in its place of another list, and to no other source", async () => {
    const argv = ["--uri", "file:a.json", "--uri", "file:b.json"];
    const remembered: (readonly (number | undefined)[])[] = [];
    const createSources: typeof agentParts.createSources = (configs, createOptions) => {
      const { receiver } = createOptions;
      remembered.push(configs.map(({ sourceIndex }) => receiver.memoryOf(sourceIndex).deletedAtMs));
      return configs.map((config) => {
        const { sourceIndex } = config;
        receiver.memoryOf(sourceIndex).deletedAtMs ??= remembered.length * 10 + sourceIndex;
        return played(config, createOptions, () => receiver.answered(sourceIndex));
      });
    };
    const { generations } = await start(argv, createSources);
    const of = (...uris: readonly string[]): readonly SourceConfig[] =>
      uris.map((uri, sourceIndex) => ({ provider: "file", uri, path: uri, selector: "", sourceIndex }));
    await generations.switchTo(of("new.json", "b.json"), signal);
    await generations.switchTo(of("b.json", "a.json"), signal);
    expect(remembered).to.deep.equal([
      [undefined, undefined],
      [undefined, 11],
      [11, undefined],
    ]);
  });
});

function remoteAt(config: SourceConfig): SourceConfig {
  const remote = { type: "ofrep-bulk", strategy: "merge" };
  return { ...config, provider: "remote", path: "", remote } as unknown as SourceConfig;
}

function aFlag(): string {
  return '{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}';
}
