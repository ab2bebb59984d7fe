import type { TransportSession } from "@bunting/rpc";
import type { FlagRejection, NamedRefusal, TopicAcks } from "../topic/topic-acks.js";
import { maxKeyCharacters, type VersionAnswer } from "./agent-request.js";

const none: ReadonlySet<FlagRejection> = new Set();
const noFlags: ReadonlySet<string> = new Set();

/** The version of a topic that an agent has, and what it refuses, counted in the acks of the topic. Both come from its answers only. */
export class AcknowledgedVersion {
  #acks: TopicAcks | undefined;
  #digest = "";
  /** The digest that the agent had when it did not answer in time; empty once it answers again. */
  #lostDigest = "";
  #rejections = none;
  /** Flags that the agent refused of the version that all are to have, before it was to try another one. */
  #refusedBefore = noFlags;
  #isTrying = false;

  /** Counts what follows in these acks. */
  open(acks: TopicAcks | undefined): void {
    this.#acks = acks;
  }

  /**
   * Counts in other acks from now on: the agent has another subscription, and the version that it had. Returns as `refuse`.
   *
   * @param isTrying the subscription is to a version that only some agents are to have
   */
  move(connection: TransportSession, acks: TopicAcks | undefined, isTrying: boolean): number {
    if (!isTrying) this.#refusedBefore = noFlags;
    else if (!this.#isTrying) this.#refusedBefore = namesOf(this.#rejections);
    this.#isTrying = isTrying;
    const digest = this.#digest;
    const lostDigest = this.#lostDigest;
    const flags = this.refuse(connection, digest, []);
    this.acknowledge("");
    this.#acks = acks;
    this.acknowledge(digest);
    this.#lostDigest = lostDigest;
    return flags;
  }

  /** Empty if the agent has none, or it is unknown which. */
  get digest(): string {
    return this.#digest;
  }

  /** The digest, or the one from before the agent did not answer in time. */
  get lastDigest(): string {
    return this.#digest === "" ? this.#lostDigest : this.#digest;
  }

  acknowledge(digest: string): void {
    this.#acks?.acknowledge(this.#digest, digest);
    this.#digest = digest;
    this.#lostDigest = "";
  }

  /** The agent has not answered in time: its version is unknown from now on. */
  lose(): void {
    const { lastDigest } = this;
    this.acknowledge("");
    this.#lostDigest = lastDigest;
  }

  /** What the agent refuses of a version, in place of what it refused before. Returns how many flags more that are. */
  refuse(connection: TransportSession, digest: string, parts: readonly NamedRefusal[]): number {
    const before = this.#rejections;
    if (before.size === 0 && parts.length === 0) return 0;
    const named =
      this.#refusedBefore.size === 0
        ? parts
        : parts.map((part) => ({ ...part, isOld: this.#refusedBefore.has(part.flag ?? "") }));
    this.#rejections = this.#acks?.refuse(connection, digest, named, before) ?? none;
    return flagsOf(this.#rejections) - flagsOf(before);
  }
}

/** What an answer names as refused. */
export function namedRefusals({ $case, value }: VersionAnswer): readonly NamedRefusal[] {
  if ($case === "nack") return [{ flag: undefined, reason: value.reason }];
  return value.rejectedFlags.map(({ key, reason }) => ({ flag: shortened(key), reason }));
}

function namesOf(rejections: ReadonlySet<FlagRejection>): ReadonlySet<string> {
  return rejections.size === 0 ? noFlags : new Set([...rejections].flatMap(({ flag }) => flag ?? []));
}

function flagsOf(rejections: ReadonlySet<FlagRejection>): number {
  let flags = 0;
  for (const { flag } of rejections) if (flag !== undefined) flags++;
  return flags;
}

/** A copy: a slice would keep the whole key, which may be a megabyte long. */
function shortened(key: string): string {
  if (key.length <= maxKeyCharacters) return key;
  return Buffer.from(key.slice(0, maxKeyCharacters), "utf16le").toString("utf16le");
}
