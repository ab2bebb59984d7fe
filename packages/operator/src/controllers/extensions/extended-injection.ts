import { configurationAnnotation, configurationPrefix } from "@bunting/extension";
import type { EventRecorder } from "@bunting/kube";
import { openFeatureApiVersion } from "@bunting/featureflags/resources";
import type { InjectionEntry } from "../../api/injection.js";
import {
  compileInjection,
  type CompiledInjection,
  type InjectionInputs,
  type InjectionTexts,
  type TextOutcome,
} from "../../desired/injection.js";
import { storedEntryOf, type StoredSpec } from "../../pod/injection-request.js";
import { fewProblems, type SourceProblem } from "../../sources/source-problem.js";
import { isPlainName } from "../injection/namespace-texts.js";
import type { TextList } from "../injection/seen-texts.js";
import type { ClusterExtensions } from "./cluster-extensions.js";
import { configurationsOf } from "./configurations-of.js";
import type { AskedEntry, ExtendedEntries, ExtendedOutcome } from "./extended-entries.js";

export interface ExtendedInjectionOptions {
  readonly extensions: Pick<ClusterExtensions, "extension">;
  readonly entries: Pick<ExtendedEntries, "look">;
  readonly events: Pick<EventRecorder, "record">;
}

/** What is compiled of a namespace, before extensions. */
export interface PlainInjection {
  readonly compiled: CompiledInjection;
  readonly inputs: InjectionInputs;
  readonly texts: InjectionTexts;
  /** Reads the Injections of the namespace; undefined if it has none yet. */
  readonly stored: (() => Promise<readonly StoredSpec[]>) | undefined;
}

const lists = ["sources", "inProcess"] as const;

/** Injections with what extensions make of their entries. */
export class ExtendedInjection {
  readonly #options: ExtendedInjectionOptions;

  constructor(options: ExtendedInjectionOptions) {
    this.#options = options;
  }

  /**
   * @returns undefined while extensions are asked: what was stored before stays
   * @throws KubeError
   */
  async of(plain: PlainInjection): Promise<CompiledInjection | undefined> {
    const { compiled, inputs, texts, stored } = plain;
    const namespace = inputs.namespace.name;
    const entries = lists.flatMap((list) => [...compiled[list]].flatMap((each) => asked(list, each, inputs)));
    const answer = this.#options.entries.look({
      namespace,
      operation: stored === undefined ? "CREATE" : "UPDATE",
      entries,
    });
    if (answer.kind === "plain") return this.#withRemarks(plain, compiled, false);
    if (answer.kind === "asking") return undefined;
    const { outcomes } = answer;
    const isWithheld = [...outcomes.values()].some(({ kind }) => kind === "withheld" || kind === "asked");
    const before = isWithheld ? ((await stored?.()) ?? []) : [];
    const outcomeOf = (list: TextList, text: string): TextOutcome => {
      const of = compiled[list].get(text) ?? { entry: undefined, plan: undefined, problems: [] };
      const outcome = outcomes.get(keyOf(list, text));
      return outcome === undefined ? of : extendedOutcome(of, outcome, storedEntryOf(before, { list, text }));
    };
    const extended = compileInjection(inputs, texts, { isExtended: true, compileText: outcomeOf });
    this.#tell(namespace, outcomes);
    return this.#withRemarks(plain, extended, true);
  }

  /** Configurations for extensions that do not exist are told of, since their authors wait for something that never comes. */
  #withRemarks(
    { inputs }: PlainInjection,
    compiled: CompiledInjection,
    isExtended: boolean,
  ): CompiledInjection {
    const remarked = (list: TextList): ReadonlyMap<string, TextOutcome> =>
      new Map(
        [...compiled[list]].map(([text, outcome]) => {
          const unknown = this.#unknown(configurationsOf(list, text, inputs));
          return [
            text,
            unknown.length === 0
              ? outcome
              : { ...outcome, problems: fewProblems([...unknown, ...outcome.problems]) },
          ];
        }),
      );
    return { ...compiled, sources: remarked("sources"), inProcess: remarked("inProcess"), isExtended };
  }

  #unknown(annotations: Readonly<Record<string, string>>): readonly SourceProblem[] {
    return Object.keys(annotations)
      .map((annotation) => annotation.slice(configurationPrefix.length))
      .filter((name) => this.#options.extensions.extension(name) === undefined)
      .map((name) => ({
        reason: "UnknownExtension",
        message: `the annotation ${configurationAnnotation(name)} is for an Extension ${name}, which does not exist`,
      }));
  }

  #tell(namespace: string, outcomes: ReadonlyMap<string, ExtendedOutcome>): void {
    for (const [key, outcome] of outcomes) {
      const [list, text] = [key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)];
      if (outcome.kind !== "refused" || !isPlainName(text)) continue;
      const kind = list === "sources" ? "FeatureFlagSource" : "InProcessConfiguration";
      this.#options.events.record({
        regarding: { apiVersion: openFeatureApiVersion, kind, namespace, name: text },
        type: "Warning",
        reason: "RefusedByExtension",
        action: "Compile",
        note: `The extension ${outcome.extension} refuses what Pods would get that name it: ${outcome.reason}`,
      });
    }
  }
}

function keyOf(list: TextList, text: string): string {
  return `${list}/${text}`;
}

function asked(
  list: TextList,
  [text, { entry }]: readonly [string, TextOutcome],
  inputs: InjectionInputs,
): readonly AskedEntry[] {
  if (entry === undefined) return [];
  return [{ key: keyOf(list, text), text, entry, annotations: configurationsOf(list, text, inputs) }];
}

/** @param stored the entry that Pods got before */
function extendedOutcome(
  of: TextOutcome,
  outcome: ExtendedOutcome,
  stored: InjectionEntry | undefined,
): TextOutcome {
  switch (outcome.kind) {
    case "entry": {
      const remarks = outcome.remarks.map((message): SourceProblem => ({
        reason: "InvalidSetting",
        message,
      }));
      return { ...of, entry: outcome.entry, problems: [...of.problems, ...remarks] };
    }
    case "refused": {
      const message = `the extension ${outcome.extension} refuses it: ${outcome.reason}`;
      const problems: readonly SourceProblem[] = [...of.problems, { reason: "RefusedByExtension", message }];
      return { ...of, entry: undefined, problems, refusal: message };
    }
    case "asked":
      return { ...of, entry: stored, ...(stored === undefined ? { isAsked: true } : {}) };
    case "withheld": {
      const served = stored === undefined ? "Pods get none" : "Pods get what was made before";
      const message = `the extension ${outcome.extension}, without which sidecars are not made, has failed, so ${served}: ${outcome.reason}`;
      return { ...of, entry: stored, problems: [...of.problems, { reason: "ExtensionFailed", message }] };
    }
  }
}
