import type { JsonValue } from "@bunting/protocol";
import { ruleOf, type Flag } from "./flag.js";
import { compile } from "./compile.js";
import { canonicalJsonText, requireWritable } from "./json-text.js";
import type { Evaluate } from "./operators/operator.js";
import type { EvaluationContext, EvaluationErrorCode, Reason, Resolution } from "./resolution.js";
import type { Scope } from "./scope.js";
import type { Value } from "./value.js";

/** A name that JSON writes without escapes: nearly every name. */
const plainName = /^[^"\\<>&\u0000-\u001f\u2028\u2029\ud800-\udfff]*$/;

/** Called with the reason why a rule could not be evaluated. */
export type OnFailure = (flag: Flag, error: unknown) => void;

/**
 * A flag made ready to be evaluated often. Its answers are made once and shared: an evaluation picks one and allocates nothing. Its rule
 * is compiled when it is first needed, because of many flags only a few may ever be evaluated.
 */
export class CompiledFlag {
  readonly flag: Flag;
  /** The answer, if it is the same for every context. */
  readonly fixed: Resolution | undefined;
  /** The answer if the rule gives null. */
  readonly #fallback: Resolution;
  #rule: Evaluate | undefined;
  /** Answers by the result of the rule, each from when it is first given, for variants whose names JSON writes without escapes. */
  #matches: Map<Value, Resolution> | undefined;
  #parseError: Resolution | undefined;

  constructor(flag: Flag) {
    this.flag = flag;
    const hasRule = ruleOf(flag) !== undefined;
    const { defaultVariant } = flag;
    this.#fallback =
      defaultVariant === undefined
        ? withoutValue(flag, "FALLBACK")
        : withVariant(flag, hasRule ? "DEFAULT" : "STATIC", defaultVariant);
    if (flag.state === "DISABLED") this.fixed = withoutValue(flag, "DISABLED");
    else if (!hasRule) this.fixed = this.#fallback;
  }

  /** A flag whose rule was compiled by the caller, to be observed. */
  static withRule(flag: Flag, rule: Evaluate): CompiledFlag {
    const compiled = new CompiledFlag(flag);
    compiled.#rule = rule;
    return compiled;
  }

  /** Never throws: a rule that fails is an answer too. */
  resolve(context: EvaluationContext, scope: Scope, onFailure: OnFailure | undefined): Resolution {
    if (this.fixed !== undefined) return this.fixed;
    try {
      this.#rule ??= compile(this.flag.targeting ?? null);
      return this.#outcome(this.#rule(context, scope.begin(context, this.flag.key)), scope);
    } catch (error) {
      // Not only what our operators throw: a rule can also exhaust the stack or the length of a string.
      onFailure?.(this.flag, error);
      return (this.#parseError ??= failed(this.flag, "PARSE_ERROR"));
    } finally {
      scope.end();
    }
  }

  /** A result names a variant by its JSON text without quotes: true names "true", 1 names "1". */
  #outcome(result: Value, scope: Scope): Resolution {
    if (result === null) return this.#fallback;
    const match = this.#matches?.get(result) ?? this.#plainMatch(result);
    if (match !== undefined) return match;
    if (typeof result === "object") requireWritable(result, scope);
    if (!this.#mayName(result)) return failed(this.flag, "GENERAL");
    if (typeof result === "string") requireWritable(result, scope);
    const name = canonicalJsonText(result).replaceAll('"', "");
    return this.flag.variants.has(name)
      ? withVariant(this.flag, "TARGETING_MATCH", name)
      : failed(this.flag, "GENERAL");
  }

  /** Whether a result could name a variant. Writing it as text takes long if it came from a large context. */
  #mayName(result: Value): boolean {
    const names = [...this.flag.variants.keys()];
    if (typeof result === "object") return names.some((name) => name.startsWith("[") || name.startsWith("{"));
    // JSON without its quotes is never shorter than the text.
    return typeof result !== "string" || names.some((name) => name.length >= result.length);
  }

  #plainMatch(result: Value): Resolution | undefined {
    if (typeof result !== "string" && typeof result !== "boolean") return undefined;
    const name = String(result);
    if (!this.flag.variants.has(name) || !plainName.test(name)) return undefined;
    const match = withVariant(this.flag, "TARGETING_MATCH", name);
    (this.#matches ??= new Map<Value, Resolution>()).set(result, match);
    return match;
  }
}

function withVariant(flag: Flag, reason: Reason, variant: string): Resolution {
  const value: JsonValue | undefined = flag.variants.get(variant);
  return { reason, variant, value, metadata: flag.metadata, errorCode: undefined };
}

function withoutValue(flag: Flag, reason: Reason): Resolution {
  return { reason, variant: undefined, value: undefined, metadata: flag.metadata, errorCode: undefined };
}

function failed(flag: Flag, errorCode: EvaluationErrorCode): Resolution {
  return { reason: "ERROR", variant: undefined, value: undefined, metadata: flag.metadata, errorCode };
}
