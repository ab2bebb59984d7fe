import { expect } from "chai";
import type { JsonObject } from "@bunting/protocol";
import {
  compileInjection,
  type CompiledInjection,
  type InjectionInputs,
  type TextOutcome,
} from "../../desired/injection.js";
import { portEntry } from "../../pod/injection-entry.fixture.js";
import type { ExtendedOutcome } from "./extended-entries.js";
import { ExtendedInjection } from "./extended-injection.js";

const withheld: ExtendedOutcome = { kind: "withheld", extension: "qos", reason: "it answered 503" };

describe("ExtendedInjection", () => {
  /** What becomes of a text that an extension is asked about. */
  async function made(
    text: string,
    outcome: ExtendedOutcome,
    { stored = {}, annotations = {} }: { readonly stored?: JsonObject; readonly annotations?: JsonObject },
  ): Promise<TextOutcome | undefined> {
    const plain: TextOutcome = { entry: portEntry, plan: undefined, problems: [] };
    const compiled: CompiledInjection = {
      injection: undefined,
      further: [],
      sources: new Map([[text, plain]]),
      inProcess: new Map(),
    };
    const inputs = {
      namespace: { name: "shop" },
      catalogue: {
        featureFlagSource: () => ({ metadata: { name: text, namespace: "shop", annotations }, spec: {} }),
        inProcessConfiguration: () => undefined,
      },
    } as unknown as InjectionInputs;
    const injections = new ExtendedInjection({
      extensions: { extension: () => undefined },
      entries: { look: () => ({ kind: "extended", outcomes: new Map([[`sources/${text}`, outcome]]) }) },
      events: { record: () => undefined },
    });
    const texts = { sources: [text], inProcess: [] };
    const read = (): Promise<never> => Promise.resolve([{ spec: { sources: stored } }] as never);
    const extended = await injections.of({ compiled, inputs, texts, stored: read });
    return extended?.sources.get(text);
  }

  it("keeps the stored entry of a text whose extension has failed", async () => {
    const before = { ...portEntry, digest: "before" };
    const found = await made("app", withheld, { stored: { app: before as unknown as JsonObject } });
    expect(found?.entry).to.deep.equal(before);
  });

  it("keeps the stored entry of a text that is still asked about, and says nothing of one that has none", async () => {
    const before = { ...portEntry, digest: "before" };
    const known = await made("app", { kind: "asked" }, { stored: { app: before as unknown as JsonObject } });
    expect(known).to.deep.equal({ entry: before, plan: undefined, problems: [] });
    const fresh = await made("app", { kind: "asked" }, {});
    expect(fresh).to.deep.equal({ entry: undefined, plan: undefined, problems: [], isAsked: true });
  });

  it("asks about every text of a namespace, and stores all answers, also where one Injection has no room for them", async () => {
    const texts = { sources: Array.from({ length: 250 }, (_, at) => `app-${at}`), inProcess: [] };
    const catalogue = { featureFlagSource: () => undefined, inProcessConfiguration: () => undefined };
    const inputs = { namespace: { name: "shop" }, catalogue } as unknown as InjectionInputs;
    const compileText = (): TextOutcome => ({ entry: portEntry, plan: undefined, problems: [] });
    const compiled = compileInjection(inputs, texts, { isExtended: true, compileText });
    const refused: ExtendedOutcome = { kind: "refused", extension: "owner", reason: "no" };
    const seen = { kind: "entry", entry: { ...portEntry, digest: "seen" }, remarks: [] } as const;
    const injections = new ExtendedInjection({
      extensions: { extension: () => undefined },
      entries: {
        look: ({ entries }) => ({
          kind: "extended",
          outcomes: new Map(entries.map(({ key }, at) => [key, at % 2 === 0 ? seen : refused])),
        }),
      },
      events: { record: () => undefined },
    });
    const extended = await injections.of({ compiled, inputs, texts, stored: undefined });
    const all = [extended?.injection, ...(extended?.further ?? [])].map((each) => each?.spec);
    const entries = all.flatMap((spec) => Object.values(spec?.sources ?? {}));
    expect(entries.map(({ digest }) => digest)).to.deep.equal(Array<string>(125).fill("seen"));
    expect(all.flatMap((spec) => Object.keys(spec?.refused?.sources ?? {}))).to.have.length(125);
    const { problems } = extended?.sources.get("app-248") ?? {};
    expect(
      problems?.map(({ reason }) => reason),
      "said once",
    ).to.deep.equal(["TooLarge"]);
  });

  it("finds no entry by a name that every object has", async () => {
    const found = await made("constructor", withheld, {});
    expect(found?.entry).to.equal(undefined);
    expect(found?.problems.map(({ reason }) => reason)).to.deep.equal(["ExtensionFailed"]);
  });

  it("names some of a thousand configurations for extensions that do not exist", async () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `extensions.bunting.dev/x${at}`);
    const annotations = Object.fromEntries(names.map((name) => [name, "1"]));
    const found = await made("app", { kind: "entry", entry: portEntry, remarks: [] }, { annotations });
    expect(found?.problems).to.have.length(16);
    expect(new Set(found?.problems.map(({ reason }) => reason))).to.deep.equal(new Set(["UnknownExtension"]));
  });
});
