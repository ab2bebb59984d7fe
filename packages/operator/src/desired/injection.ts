import type { InProcessConfiguration } from "@bunting/featureflags/resources";
import { injectionNames, type Injection, type InjectionEntry } from "../api/injection.js";
import { planInProcess, type InProcessRules } from "../sources/in-process-plan.js";
import {
  planSources,
  type SourceCatalogue,
  type SourcePlan,
  type SourceRules,
  type Unkept,
} from "../sources/source-plan.js";
import { fewProblems, type SourceProblem } from "../sources/source-problem.js";
import { FilledInjections, maxBytes, maxTexts } from "./filled-injections.js";
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
  /** What it has no room for, where extensions are asked. */
  readonly further: readonly Injection[];
  /** True if extensions were asked about its entries. */
  readonly isExtended?: boolean;
  readonly sources: ReadonlyMap<string, TextOutcome>;
  readonly inProcess: ReadonlyMap<string, TextOutcome>;
}

/** Of the texts of an Injection, what is only offered. One object can be shared with a thousand namespaces, and every API server keeps all Injections in memory. */
const maxOffered = { texts: 20, bytes: 100_000 };
/** Further ones are not even tried: a namespace may have thousands of sources, and the operator has other namespaces. */
export const maxTried = 400;
/** Nor are further ones if what was compiled is so large by then, whether it fits or not: nothing else runs meanwhile. */
const maxCompiledBytes = 4 * maxBytes;

/** Compiles what Pods of a namespace get for a text. */
export type CompileText = (
  list: "sources" | "inProcess",
  text: string,
  inputs: InjectionInputs,
) => TextOutcome;

export interface CompileHow {
  /** Extensions are asked about what is compiled: then webhooks give what is stored, so that there is room for all of it. */
  readonly isExtended?: boolean;
  readonly compileText?: CompileText;
}

/** Compiles what Pods of a namespace get. Texts for which there is no room are left to the webhook. */
export function compileInjection(
  inputs: InjectionInputs,
  texts: InjectionTexts,
  { isExtended = false, compileText = compileByList }: CompileHow = {},
): CompiledInjection {
  const work = { tries: maxTried, bytes: maxCompiledBytes };
  const filled = new FilledInjections(inputs.namespace.name, isExtended ? injectionNames.length : 1);
  const offeredRoom = { ...maxOffered };
  const noRoom = isExtended ? notAsked : tooLarge;
  const compile = (list: "sources" | "inProcess") => {
    const placed = (text: string, outcome: TextOutcome): TextOutcome => {
      const { entry, refusal } = outcome;
      const said = entry !== undefined ? { entry } : refusal !== undefined ? { refusal } : undefined;
      if (said === undefined) return outcome;
      const bytes = Buffer.byteLength(JSON.stringify({ [text]: said }));
      work.bytes -= bytes;
      const isOffered = texts.offered?.[list].has(text) === true;
      const at = filled.put({ list, text, said }, bytes, isOffered ? [offeredRoom] : []);
      // It may have been compiled before, when less was refused.
      const problems = outcome.problems.filter((each) => each !== tooLarge);
      if (at === undefined) return { ...outcome, entry: undefined, problems: [...problems, noRoom] };
      const isForWebhook = at > 0 && entry !== undefined;
      return { ...outcome, problems: isForWebhook ? [...problems, tooLarge] : problems };
    };
    const tried = (text: string): TextOutcome => {
      // Nothing is known of it, so that it takes no other's turn.
      const unkept = unkeptProblem(list, text, inputs);
      if (unkept !== undefined) return refused([unkept]);
      return work.tries-- > 0 && work.bytes > 0
        ? placed(text, compileText(list, text, inputs))
        : refused([noRoom]);
    };
    return new Map([...new Set(texts[list])].map((text) => [text, tried(text)]));
  };
  const sources = compile("sources");
  const inProcess = compile("inProcess");
  const [injection, ...further] = filled.injections();
  return { injection, further, sources, inProcess };
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

const tooLarge: SourceProblem = {
  reason: "TooLarge",
  message: `the namespace has more than ${maxTexts} texts of annotations, or ${maxBytes / 1_000} KB of what they stand for: Pods with this one get their sidecar from the webhook only`,
};

/** Where extensions are asked. */
const notAsked: SourceProblem = {
  reason: "TooLarge",
  message: `the namespace has more than ${maxTried} texts of annotations, or ${maxCompiledBytes / 1_000} KB of what they stand for: extensions are not asked about this one, and Pods with it get no sidecar where an extension has the failurePolicy Fail, and else one that no extension has seen`,
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
