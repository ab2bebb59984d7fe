import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import type { ProxySettings } from "../../desired/proxy/proxy-settings.js";
import { AppliedEvents } from "../apply/applied-events.js";
import { DriftPace } from "../apply/drift-pace.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { deployProxy, planProxy, proxyStateNow } from "./deploy-proxy.js";
import type { ProxyCluster } from "./proxy-cluster.js";
import type { ProxyState } from "./proxy-state.js";
import type { ProxyUse } from "./proxy-use.js";
import { removeProxy } from "./remove-proxy.js";

export interface ProxyControllerOptions {
  readonly settings: ProxySettings;
  readonly use: ProxyUse;
  readonly cluster: ProxyCluster;
  readonly context: Context<ControllerMetrics>;
  /** How long the proxy stays after its last use: a source that is replaced does not take the proxy with it. Default 10 min. */
  readonly lingerMs?: number;
  /** Called when the state has changed. */
  readonly onState: (state: ProxyState) => void;
}

/** There is one proxy, so there is one key. */
const key = "proxy";
/** Interval of looks whether the last subscriber has gone. */
const lookMs = 60_000;
/** Interval of looks at an object that is not ours: those are not watched. */
const takenMs = 60_000;

/**
 * Deploys the proxy while something uses it, puts back what others change of it, and goes back to the last image that was available if a new one
 * does not become so. The proxy is removed when it has not been used for a while, and only if it has no subscribers.
 */
export class ProxyController implements Runnable {
  readonly name = "proxy controller";
  readonly #options: ProxyControllerOptions;
  readonly #controller: Controller;
  readonly #pace: DriftPace;
  #state: ProxyState = { kind: "absent" };
  /** Time on the monotonic clock; undefined while it is used. */
  #unusedSinceMs: number | undefined;

  constructor(options: ProxyControllerOptions) {
    const { context } = options;
    this.#options = options;
    this.#pace = new DriftPace(context.clock);
    const reconcile = (_key: string, signal: AbortSignal): Promise<WorkResult | undefined> =>
      this.#reconcile(signal);
    this.#controller = new Controller({ name: "proxy", reconcile, context });
  }

  get state(): ProxyState {
    return this.#state;
  }

  /** True if nothing is to be done now. */
  get isIdle(): boolean {
    return this.#controller.isIdle;
  }

  /** Something has happened to the proxy's objects. */
  changed(): void {
    this.#controller.add(key);
  }

  async run(signal: AbortSignal): Promise<void> {
    // Another leader may have seen it used in between.
    this.#unusedSinceMs = undefined;
    const stop = this.#options.use.listen(() => this.changed());
    this.changed();
    await this.#controller.run(signal).finally(stop);
  }

  async #reconcile(signal: AbortSignal): Promise<WorkResult | undefined> {
    const { isWanted } = this.#options.use;
    if (isWanted === undefined) return undefined;
    if (!isWanted) return this.#removeAfterLinger(signal);
    this.#unusedSinceMs = undefined;
    const { settings: given, cluster, context } = this.#options;
    const access = cluster.access === undefined ? "plain" : cluster.access();
    // `changed` is called when it is known.
    if (access === undefined) return undefined;
    const settings = { ...given, access };
    const news = new AppliedEvents(cluster.events, context.logger);
    let wanted = "";
    try {
      const plan = await planProxy(settings, cluster, signal);
      ({ wanted } = plan);
      const leftMs = this.#pace.leftMs(key, wanted);
      if (leftMs > 0) {
        this.#enter(proxyStateNow(plan));
        return { requeueAfterMs: leftMs, isPutOff: true };
      }
      this.#enter(await deployProxy(plan, cluster, news, signal));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!signal.aborted)
        this.#enter({ kind: "failed", message: `the proxy could not be deployed: ${text}` });
      throw error;
    } finally {
      if (news.hasWritten) this.#pace.wrote(key, wanted);
    }
    return this.#state.kind === "nameTaken" ? { requeueAfterMs: takenMs } : undefined;
  }

  async #removeAfterLinger(signal: AbortSignal): Promise<WorkResult | undefined> {
    const { settings, use, cluster, context, lingerMs = 600_000 } = this.#options;
    const nowMs = context.clock.monotonicMs();
    this.#unusedSinceMs ??= nowMs;
    const leftMs = this.#unusedSinceMs + lingerMs - nowMs;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const isStillUnused = (): boolean => use.isWanted === false;
    const removed = await removeProxy(settings, cluster, isStillUnused, signal);
    if (removed === undefined) return { requeueAfterMs: lookMs };
    if (removed.length > 0) context.logger.info({ removed }, "no source uses the proxy: it is removed");
    this.#enter({ kind: "absent" });
    return undefined;
  }

  #enter(state: ProxyState): void {
    const { context, onState } = this.#options;
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    const isWell = !("message" in state);
    context.logger[isWell ? "info" : "warn"]({ proxy: state }, "the state of the proxy has changed");
    onState(state);
  }
}
