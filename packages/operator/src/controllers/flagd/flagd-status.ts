import { flagdType, type Flagd } from "@bunting/featureflags/resources";
import type { Condition, KubeObject, RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import { StatusWriter } from "../status-writer.js";
import { flagdConditions } from "./flagd-conditions.js";
import type { FlagdNews } from "./flagd-outcome.js";

/** A Flagd with its status. */
export type StoredFlagd = Flagd &
  KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

/** Of its own, beside that of the other fields we apply: what one of the two does not apply would go otherwise. */
const fieldManager = "bunting-operator-flagd";
/** Of all objects together. */
const rate = { burst: 20, perSecond: 5 };

/** Writes the status of Flagds. */
export class FlagdStatus {
  readonly #writer: StatusWriter;
  readonly #context: Pick<Context, "clock">;

  constructor(client: Pick<RestClient, "apply">, context: Pick<Context, "clock" | "logger">) {
    this.#writer = new StatusWriter({ client, fieldManager, rate, context });
    this.#context = context;
  }

  /**
   * Writes what became of the Flagd, if that is news.
   *
   * @returns after how long it must be called again, in ms; undefined if all is written
   * @throws KubeError
   */
  async write(flagd: StoredFlagd, outcome: FlagdNews, signal: AbortSignal): Promise<number | undefined> {
    const { clock } = this.#context;
    const { name, namespace, uid, generation } = flagd.metadata;
    const before = flagd.status?.conditions ?? [];
    const conditions = flagdConditions(before, outcome, { generation, nowMs: clock.now() });
    if (conditions === before) return undefined;
    const target = { type: flagdType, kind: "Flagd", metadata: { name, namespace, uid } };
    return (await this.#writer.writeWhenDue(target, { conditions }, signal))?.requeueAfterMs;
  }
}
