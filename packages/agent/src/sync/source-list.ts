import type { SourceFlagsMessage, SourceList } from "@bunting/sync-client/messages";
import { isTopicKey, sourceListDigest, topicOf } from "@bunting/protocol";
import { quoted } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import type { GrpcSourceConfig, SourceConfig } from "./source-config.js";

/** Which list of FeatureFlags the agent follows, as `--source-list` says it. */
export interface SourceListOption {
  readonly name: Pick<SourceList, "namespace" | "text">;
  /** Another frame is that of Pods of another kind. */
  readonly frame: string;
  /** How many sources there are before those of the list, and after. */
  readonly before: number;
  readonly after: number;
}

/**
 * How an agent is with its list:
 *
 * - `untold`: no proxy has told it since the start.
 * - `followed`: its sources are those of the newest one, or about to be.
 * - `older`: the newest one is for Pods that are newer than this one.
 * - `unusable`: the newest one can't be followed.
 */
export type ListState = (typeof listStates)[number];
export const listStates = ["untold", "followed", "older", "unusable"] as const;

/** Longer ones are refused by the proxy. */
const maxTextBytes = 1_024;
/** Each is a connection, of 50 KB of heap, and while one list takes the place of another there are those of both: more would not fit into 64 MiB. */
const mostTopics = 128;

/** @throws AgentError OPTION_INVALID */
export function parseSourceList(option: string): SourceListOption | undefined {
  if (option === "") return undefined;
  const [, namespace, text, frame, before, after] =
    /^([^/]{1,63})\/(.+)@([0-9a-f]{1,64}):(\d{1,4}):(\d{1,4})$/s.exec(option) ?? [];
  if (namespace === undefined || text === undefined || frame === undefined)
    throw AgentError.optionInvalid(
      `--source-list ${quoted(option)} is none: the operator writes NAMESPACE/TEXT@FRAME:BEFORE:AFTER; leave it out elsewhere`,
    );
  if (Buffer.byteLength(text) > maxTextBytes)
    throw AgentError.optionInvalid(
      `--source-list has a text of more than ${maxTextBytes} bytes, which no proxy takes; leave it out`,
    );
  return { name: { namespace, text }, frame, before: Number(before), after: Number(after) };
}

/** The place among an agent's sources that a list fills. */
export class ListPlace {
  readonly #before: readonly SourceConfig[];
  readonly #first: GrpcSourceConfig;
  readonly #after: readonly SourceConfig[];

  private constructor(
    before: readonly SourceConfig[],
    first: GrpcSourceConfig,
    after: readonly SourceConfig[],
  ) {
    this.#before = before;
    this.#first = first;
    this.#after = after;
  }

  /** Undefined if the sources there are not all FeatureFlags of one proxy. */
  static of(
    configs: readonly SourceConfig[],
    { before, after }: Pick<SourceListOption, "before" | "after">,
  ): ListPlace | undefined {
    const end = configs.length - after;
    const [first, ...more] = configs.slice(before, Math.max(before, end));
    if (first?.provider !== "grpc" || ![first, ...more].every((each) => isOfProxy(each, first)))
      return undefined;
    return new ListPlace(configs.slice(0, before), first, configs.slice(end));
  }

  /** The place of the source whose stream asks for the list. */
  get asking(): number {
    return this.#before.length;
  }

  /** The FeatureFlags of these sources. */
  topicsOf(configs: readonly SourceConfig[]): readonly string[] {
    const own = configs.slice(this.#before.length, configs.length - this.#after.length);
    return own.flatMap(({ selector }) => topicOf(selector) ?? []);
  }

  /** All sources, with these FeatureFlags in the place. */
  filledWith(topics: readonly string[]): readonly SourceConfig[] {
    const own = topics.map((topic) => ({ ...this.#first, selector: `core.openfeature.dev/${topic}` }));
    return [...this.#before, ...own, ...this.#after].map((config, sourceIndex) =>
      Object.freeze({ ...config, sourceIndex }),
    );
  }
}

/** What an agent says of the list, where it has these FeatureFlags of it. */
export function sourceListOf({ name, frame }: SourceListOption, topics: readonly string[]): SourceList {
  return { ...name, digest: sourceListDigest({ ...name, frame, topics }) };
}

/** Why a list can't be followed; undefined if it can be. */
export function problemOfList({ topics }: Pick<SourceFlagsMessage, "topics">): string | undefined {
  if (topics.length === 0) return "it has no FeatureFlag";
  if (topics.length > mostTopics) return `it has more than ${mostTopics} FeatureFlags`;
  const wrong = topics.find((topic) => !isTopicKey(topic));
  return wrong === undefined ? undefined : `${quoted(wrong)} can't be the name of a FeatureFlag`;
}

function isOfProxy(config: SourceConfig, { uri }: GrpcSourceConfig): boolean {
  return config.provider === "grpc" && config.uri === uri && topicOf(config.selector) !== undefined;
}
