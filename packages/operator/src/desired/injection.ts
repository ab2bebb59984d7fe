import type { InProcessConfiguration } from "@bunting/featureflags/resources";
import {
  injectionFormat,
  injectionName,
  type Injection,
  type InjectionEntry,
  type InjectionSpec,
} from "../api/injection.js";
import { planInProcess, type InProcessRules } from "../sources/in-process-plan.js";
import {
  planSources,
  type SourceCatalogue,
  type SourcePlan,
  type SourceRules,
  type Unkept,
} from "../sources/source-plan.js";
import { fewProblems, type SourceProblem } from "../sources/source-problem.js";
import { inProcessEntry } from "./in-process-entry.js";
import { sidecarEntry, type PodNamespace } from "./sidecar-entry.js";
import type { SidecarSettings } from "./sidecar-settings.js";

/** The state that entries of one namespace are compiled from. */
export interface InjectionInputs {
  readonly namespace: PodNamespace;
  readonly catalogue: SourceCatalogue & {
    /** By `namespace/name`. */
    readonly inProcessConfiguration: (key: string) => (InProcessConfiguration & Unkept) | undefined;
  };
  readonly rules: SourceRules & InProcessRules;
  readonly settings: SidecarSettings;
}

/** The texts of annotations, the most important first: an Injection has room for so many. */
export interface InjectionTexts {
  readonly sources: readonly string[];
  readonly inProcess: readonly string[];
  /** Those of them that others have shared, and that no Pod of the namespace has named so far. */
  readonly offered?: {
    readonly sources: ReadonlySet<string>;
    readonly inProcess: ReadonlySet<string>;
  };
}

/** What became of a text. */
export interface TextOutcome {
  /** Undefined if it is refused: then Pods with the text get nothing. */
  readonly entry: InjectionEntry | undefined;
  /** Undefined for refused texts, and those of InProcessConfigurations. */
  readonly plan: SourcePlan | undefined;
  /** Why it is refused, or what of it is not served. */
  readonly problems: readonly SourceProblem[];
  /** Why an extension refuses it. Whoever reads the Injection has to know: what can be compiled without extensions is not to be given either. */
  readonly refusal?: string;
  /** True while nothing can be said of it, because extensions are asked. */
  readonly isAsked?: boolean;
}

export interface CompiledInjection {
  /** Undefined if no text has an entry, and none is refused by an extension. */
  readonly injection: Injection | undefined;
  /** True if extensions were asked about its entries. */
  readonly isExtended?: boolean;
  readonly sources: ReadonlyMap<string, TextOutcome>;
  readonly inProcess: ReadonlyMap<string, TextOutcome>;
}

/** etcd takes 1.5 MB, and every admission of a Pod reads the object. */
const maxBytes = 900_000;
const maxTexts = 200;
/** Of these, what is only offered. One object can be shared with a thousand namespaces, and every API server keeps all Injections in memory. */
const maxOffered = { texts: 20, bytes: 100_000 };
/** Further ones are not even tried: a namespace may have thousands of sources, and the operator has other namespaces. */
const maxTried = 400;
/** Nor are further ones if what was compiled is so large by then, whether it fits or not: nothing else runs meanwhile. */
const maxCompiledBytes = 4 * maxBytes;

/** Compiles what Pods of a namespace get for a text. */
export type CompileText = (
  list: "sources" | "inProcess",
  text: string,
  inputs: InjectionInputs,
) => TextOutcome;

/** Compiles what Pods of a namespace get. Texts for which there is no room are left to the webhook. */
export function compileInjection(
  inputs: InjectionInputs,
  texts: InjectionTexts,
  compileText: CompileText = compileByList,
): CompiledInjection {
  const work = { tries: maxTried, bytes: maxCompiledBytes };
  const room = { texts: maxTexts, bytes: maxBytes };
  const offeredRoom = { ...maxOffered };
  const compile = (list: "sources" | "inProcess") => {
    const roomsOf = (text: string): readonly Room[] =>
      texts.offered?.[list].has(text) === true ? [room, offeredRoom] : [room];
    const tried = (text: string): TextOutcome => {
      // Nothing is known of it, so that it takes no other's turn.
      const unkept = unkeptProblem(list, text, inputs);
      if (unkept !== undefined) return refused([unkept]);
      return work.tries-- > 0 && work.bytes > 0
        ? fitted(text, compileText(list, text, inputs), roomsOf(text), work)
        : refused([tooLarge]);
    };
    return new Map([...new Set(texts[list])].map((text) => [text, tried(text)]));
  };
  const sources = compile("sources");
  const inProcess = compile("inProcess");
  const refusals = refusalsOf({ sources, inProcess });
  const injection: Injection = {
    apiVersion: "bunting.dev/v1alpha1",
    kind: "Injection",
    metadata: { name: injectionName, namespace: inputs.namespace.name },
    spec: {
      format: injectionFormat,
      sources: entriesOf(sources),
      inProcess: entriesOf(inProcess),
      ...(refusals === undefined ? {} : { refused: refusals }),
    },
  };
  const isEmpty = room.texts === maxTexts && refusals === undefined;
  return { injection: isEmpty ? undefined : injection, sources, inProcess };
}

function compileByList(...[list, text, inputs]: Parameters<CompileText>): TextOutcome {
  return list === "sources" ? compileSources(text, inputs) : compileInProcess(text, inputs);
}

/** What Pods with this text of `openfeature.dev/featureflagsource` get. */
export function compileSources(
  text: string,
  { namespace, catalogue, rules, settings }: InjectionInputs,
): TextOutcome {
  const planned = planSources(text, catalogue, rules);
  if (planned.kind === "refused") return refused(planned.problems);
  const result = sidecarEntry(text, planned.plan, settings, namespace);
  if (result.kind === "refused") return refused(result.problems);
  return { entry: result.entry, plan: planned.plan, problems: fewProblems(result.problems) };
}

/** What Pods with this text of `openfeature.dev/inprocessconfiguration` get. */
export function compileInProcess(text: string, { catalogue, rules }: InjectionInputs): TextOutcome {
  const planned = planInProcess(text, catalogue.inProcessConfiguration, rules);
  if (planned.kind === "refused") return refused(planned.problems);
  const { entry, problems } = inProcessEntry(planned.spec);
  return { entry, plan: undefined, problems: fewProblems([...planned.problems, ...problems]) };
}

function refused(problems: readonly SourceProblem[]): TextOutcome {
  return { entry: undefined, plan: undefined, problems: fewProblems(problems) };
}

/** What is left in an Injection. */
interface Room {
  texts: number;
  bytes: number;
}

function fitted(
  text: string,
  outcome: TextOutcome,
  rooms: readonly Room[],
  work: { bytes: number },
): TextOutcome {
  if (outcome.entry === undefined) return outcome;
  const bytes = Buffer.byteLength(JSON.stringify({ [text]: outcome.entry }));
  work.bytes -= bytes;
  if (rooms.every((room) => room.texts > 0 && bytes <= room.bytes)) {
    for (const room of rooms) {
      room.texts--;
      room.bytes -= bytes;
    }
    return outcome;
  }
  return { ...outcome, entry: undefined, problems: [...outcome.problems, tooLarge] };
}

const tooLarge: SourceProblem = {
  reason: "TooLarge",
  message: `the namespace has more than ${maxTexts} texts of annotations, or ${maxBytes / 1_000} KB of what they stand for: Pods with this one get their sidecar from the webhook only`,
};

/** Why the namespace's object of this name is not kept in memory. */
function unkeptProblem(
  list: "sources" | "inProcess",
  text: string,
  { namespace, catalogue }: InjectionInputs,
): SourceProblem | undefined {
  const find = list === "sources" ? catalogue.featureFlagSource : catalogue.inProcessConfiguration;
  return find(`${namespace.name}/${text}`)?.unkept;
}

function entriesOf(outcomes: ReadonlyMap<string, TextOutcome>): Readonly<Record<string, InjectionEntry>> {
  const entries = [...outcomes].flatMap(([text, { entry }]) =>
    entry === undefined ? [] : [[text, entry] as const],
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Of so many texts it is kept that an extension refuses them. */
const maxRefused = 200;

function refusalsOf(
  outcomes: Readonly<Record<"sources" | "inProcess", ReadonlyMap<string, TextOutcome>>>,
): InjectionSpec["refused"] {
  const of = (list: "sources" | "inProcess"): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...outcomes[list]]
        .flatMap(([text, { refusal }]) => (refusal === undefined ? [] : [[text, refusal] as const]))
        .slice(0, maxRefused)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  const refused = { sources: of("sources"), inProcess: of("inProcess") };
  return Object.values(refused).every((texts) => Object.keys(texts).length === 0) ? undefined : refused;
}
