import { KubeError, type KubeObject } from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { Injection } from "../../api/injection.js";
import type { CompiledInjection, TextOutcome } from "../../desired/injection.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { portEntry } from "../../pod/injection-entry.fixture.js";
import type { PlainInjection } from "../extensions/extended-injection.js";
import { InjectionController, type InjectionControllerOptions } from "./injection-controller.js";
import { SeenTexts } from "./seen-texts.js";

const outcome: TextOutcome = { entry: portEntry, plan: undefined, problems: [] };
const injection: Injection = {
  apiVersion: "bunting.dev/v1alpha1",
  kind: "Injection",
  metadata: { name: "bunting", namespace: "shop" },
  spec: { format: 1, sources: { app: portEntry }, inProcess: {} },
};
const compiled: CompiledInjection = {
  injection,
  further: [],
  sources: new Map([["app", outcome]]),
  inProcess: new Map(),
};

/** What it compiles is what extensions say; the API server is a stand-in that refuses on request. The rest is tried on a real one. */
describe("InjectionController", () => {
  let clock: ManualClock;
  let error: KubeError | undefined;
  let isAsking: boolean;
  let writes: number;
  let told: TextOutcome[];
  /** What extensions were asked about last. */
  let asked: CompiledInjection | undefined;
  let answered: (namespace: string, hasAnswered: boolean) => void;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(async () => {
    clock = new ManualClock();
    error = new KubeError("FORBIDDEN", "the API server answered 403 Forbidden: exceeded quota");
    isAsking = false;
    writes = 0;
    told = [];
    const origins = { own: Array.from({ length: 401 }, (_, at) => `app-${at}`), shared: [], seen: [] };
    const sources = {
      ...{ listen: () => () => undefined, whenSynced: Promise.resolve(), namespaces: () => ["shop"] },
      ...{ isOpen: () => true, beginInputs: () => undefined },
      inputs: () => ({
        namespace: { name: "shop" },
        catalogue: { featureFlagSource: () => undefined, inProcessConfiguration: () => undefined },
        rules: {},
      }),
      origins: (_namespace: string, list: string) => (list === "sources" ? origins : { ...origins, own: [] }),
    };
    const stored = {
      informer: { whenSynced: Promise.resolve(), store: { list: () => [], get: () => undefined } },
    };
    const options = {
      cluster: {
        client: {
          get: () => Promise.reject(new KubeError("NOT_FOUND", "there is none")),
          delete: () => Promise.resolve(),
          apply: (): Promise<KubeObject> => {
            writes++;
            return error === undefined
              ? Promise.resolve({ metadata: { name: "bunting" } })
              : Promise.reject(error);
          },
        },
        watches: { inform: () => ({ ...stored, run: () => Promise.resolve() }) },
      },
      ...{ sources, seen: new SeenTexts(200) },
      extensions: {
        whenSynced: Promise.resolve(),
        listen: (listener: typeof answered) => {
          answered = listener;
          return () => undefined;
        },
        areAsked: () => true,
        of: ({ compiled: plain }: PlainInjection) => {
          asked = plain;
          return Promise.resolve(isAsking ? undefined : compiled);
        },
        forget: () => undefined,
      },
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics() },
      news: {
        compiled: (_list: string, _key: string, each: TextOutcome) => told.push(each),
        ...{ usesProxy: () => undefined, complete: () => undefined },
      },
    };
    abort = new AbortController();
    running = new InjectionController(options as unknown as InjectionControllerOptions).run(abort.signal);
    await pass(0);
  });
  afterEach(async () => {
    abort.abort();
    await running;
  });

  async function pass(seconds: number): Promise<void> {
    for (let left = seconds * 10; left > 0; left--) {
      clock.advance(100);
      await nextTurn();
    }
    await nextTurn();
  }

  it("tries a write that is refused later and later, and says so in the condition of the source", async () => {
    await pass(255);
    expect(writes).to.be.within(2, 10);
    expect(told.at(-1)?.entry).to.equal(undefined);
    expect(told.at(-1)?.problems[0]).to.deep.include({ reason: "NotWritten" });
  });

  it("goes on waiting where extensions are asked meanwhile, and takes back what it said once it is written", async () => {
    for (let left = 60; left > 0; left--) {
      await pass(1);
      if (left % 10 !== 0) continue;
      isAsking = true;
      answered("shop", false);
      await pass(1);
      isAsking = false;
      answered("shop", true);
    }
    expect(writes).to.be.within(2, 16);
    error = undefined;
    // The longest wait of a controller.
    await pass(300);
    expect(told.at(-1)).to.equal(outcome);
  });

  it("compiles for extensions what one Injection has no room for", async () => {
    await pass(1);
    const problems = [...(asked?.sources.values() ?? [])].flatMap((each) => each.problems);
    expect(problems.filter(({ message }) => message.includes("extensions are not asked"))).to.have.length(1);
  });

  it("says nothing of sources while the API server is away", async () => {
    error = new KubeError("CONNECTION_LOST", "the connection broke");
    await pass(600);
    told.length = 0;
    await pass(600);
    expect(told.length).to.be.greaterThan(0);
    expect(told.every((each) => each === outcome)).to.equal(true);
  });
});
