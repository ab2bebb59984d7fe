import { constants, gunzipSync, gzipSync } from "node:zlib";
import {
  atOnce,
  digestingDocument,
  encodeDocument,
  isJsonObject,
  normaliseDocument,
  type FlagDocument,
  type JsonValue,
} from "@bunting/protocol";

/**
 * How far the newest version of a FeatureFlag is:
 *
 * - Whole: all agents are to have it.
 * - Progressing: the agents of a wave try it.
 * - Paused: likewise, and no further wave begins until spec.rollout.paused is false.
 * - Halted: likewise, because too many agents refuse it; until somebody resumes it or edits the flags.
 * - Aborted: nobody has it; until somebody resumes it or edits the flags.
 */
export const flagRolloutPhases = ["Whole", "Progressing", "Paused", "Halted", "Aborted"] as const;
export type FlagRolloutPhase = (typeof flagRolloutPhases)[number];

/** The part `rollout` of a FeatureFlag's status: all that the proxy and a restarted operator know of a rollout. */
export interface FlagRolloutStatus {
  /** Of the flags that the rest is about. If the FeatureFlag has others by now, nobody gets these yet. */
  readonly digest: string;
  readonly phase: FlagRolloutPhase;
  /** The number of the wave, from 1; 0 before the first. */
  readonly wave: number;
  /** Agents with a lower bucket have the version: of 10,000 buckets. */
  readonly reach: number;
  /** The most agents that could have tried the version. */
  readonly agents: number;
  /** The most agents of the wave that were there at once: stored when it has doubled. */
  readonly tried: number;
  /** Refusals that somebody has seen and forgiven. */
  readonly forgiven: number;
  /** The annotation that has been followed. */
  readonly resumed?: string;
  readonly whole: WholeVersion;
}

/** The version that all agents are to have, those that read another protocol too. */
export interface WholeVersion {
  readonly digest: string;
  readonly generation: number;
  /** The document: see `encodeWhole`. */
  readonly document: string;
}

/** An object of an API server has room for flags of such a size, and for them once more. */
const maxEncodedCharacters = 512 * 1024;
const maxDocumentBytes = 4 * 1024 * 1024;

/** A document as it is kept in a status: canonical JSON, by gzip, in base64. Undefined if it is too large for that. */
export function encodeWhole(document: FlagDocument): string | undefined {
  const text = encodeDocument(document);
  if (text.length > maxDocumentBytes) return undefined;
  const encoded = gzipSync(text, { level: constants.Z_BEST_COMPRESSION }).toString("base64");
  return encoded.length > maxEncodedCharacters ? undefined : encoded;
}

/**
 * Undefined for anything else than `encodeWhole` makes of the version with that digest: whoever may write the status can write that, and flags under the
 * name of a version that was checked must be those of that version.
 */
export function decodeWhole({
  digest,
  document: encoded,
}: Pick<WholeVersion, "digest" | "document">): FlagDocument | undefined {
  if (encoded.length > maxEncodedCharacters) return undefined;
  try {
    const text = gunzipSync(Buffer.from(encoded, "base64"), { maxOutputLength: maxDocumentBytes });
    const { document } = normaliseDocument(JSON.parse(text.toString()) as JsonValue);
    return atOnce(digestingDocument(document)) === digest ? document : undefined;
  } catch {
    return undefined;
  }
}

/** The part of a status; undefined if it says nothing of use. */
export function readFlagRolloutStatus(value: unknown): FlagRolloutStatus | undefined {
  if (!isJsonObject(value as JsonValue)) return undefined;
  const { digest, phase, wave, reach, agents, tried, forgiven, resumed, whole } = value as Record<
    string,
    unknown
  >;
  const known = flagRolloutPhases.find((each) => each === phase);
  const version = readWhole(whole);
  if (typeof digest !== "string" || known === undefined || version === undefined) return undefined;
  if (!isCount(wave) || !isCount(reach)) return undefined;
  return {
    ...{ digest, phase: known, wave, reach, whole: version },
    agents: isCount(agents) ? agents : 0,
    tried: isCount(tried) ? tried : 0,
    forgiven: isCount(forgiven) ? forgiven : 0,
    ...(typeof resumed === "string" ? { resumed } : {}),
  };
}

function readWhole(value: unknown): WholeVersion | undefined {
  const { digest, generation, document } = (value ?? {}) as Record<string, unknown>;
  if (typeof digest !== "string" || typeof document !== "string" || !isCount(generation)) return undefined;
  return { digest, generation, document };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
