import { identityName, type Decision, type Identity, type PathReviews } from "@bunting/identity";
import type { ServingContext } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import type { Access, Admitted } from "./access.js";
import type { AccessMetrics, PagePath } from "./access-metrics.js";
import type { Presented } from "./caller-identification.js";
import type { CheckedAccess } from "./checked-access.js";
import { refusalLog, type Refusal } from "./refusal-log.js";

export interface PageAccessOptions {
  /** Authenticates the caller. */
  readonly callers: Pick<CheckedAccess, "identify"> & Pick<Access, "watchAdmission" | "forget">;
  /** Authorizes by RBAC; if absent, every identity may read. */
  readonly reviews?: Pick<PathReviews, "check" | "recheck"> | undefined;
  readonly context: Omit<ServingContext<Pick<AccessMetrics, "pageRefused" | "accessEnded">>, "logger">;
  /** The time between two looks at answers that go on, in ms. */
  readonly recheckMs: number;
}

/** Access to the pages of the management port that need an identity. */
export class PageAccess {
  readonly #options: PageAccessOptions;
  readonly #audit: (refusal: Refusal) => void;

  constructor(options: PageAccessOptions) {
    this.#options = options;
    this.#audit = refusalLog(options.context.clock, options.context.log);
  }

  /** True if RBAC has been asked about whoever gets a page. */
  get isByPermission(): boolean {
    return this.#options.reviews !== undefined;
  }

  /**
   * Who asks for a page, if it may read it.
   *
   * @throws ProxyError UNAUTHENTICATED, PERMISSION_DENIED or ACCESS_UNDECIDED
   */
  async admit(presented: Presented, path: PagePath): Promise<Identity> {
    const { callers, reviews } = this.#options;
    const identity = await callers.identify(presented);
    const decision = await reviews?.check(identity, path);
    if (decision === undefined || decision.kind === "allowed") return identity;
    throw this.#refused(identity, path, decision);
  }

  /** Ends an answer that goes on, such as a stream of events, when its reader may not read it any more. Until the returned function is called. */
  watch(identity: Identity, path: PagePath, answer: Admitted): () => void {
    const { callers, reviews, context, recheckMs } = this.#options;
    callers.watchAdmission({ identity }, answer);
    let isOver = false;
    let cancel: (() => void) | undefined;
    const look = async (): Promise<void> => {
      const decision = await reviews?.recheck(identity, path);
      if (isOver) return;
      if (decision?.kind === "denied") {
        context.metrics.accessEnded("permission");
        answer.refuse(this.#refused(identity, path, decision));
      } else lookLater();
    };
    const lookLater = (): void => {
      // A defect leaves the answer to its end, and the log of the process says so.
      cancel = context.clock.after(recheckMs, () => void look());
    };
    if (reviews !== undefined) lookLater();
    return () => {
      isOver = true;
      cancel?.();
      callers.forget(answer);
    };
  }

  #refused(
    identity: Identity,
    path: PagePath,
    { kind, reason }: Exclude<Decision, { kind: "allowed" }>,
  ): ProxyError {
    const name = identityName(identity);
    const message =
      kind === "denied"
        ? `${name} may not read ${path}, because ${reason}`
        : `whether ${name} may read ${path} can't be found out for now, because ${reason}`;
    this.#options.context.metrics.pageRefused(path, kind);
    this.#audit({
      reason: kind,
      who: `${name} ${path}`,
      fields: { identity: name, path },
      message: `refused a page: ${message}`,
    });
    return new ProxyError(kind === "denied" ? "PERMISSION_DENIED" : "ACCESS_UNDECIDED", message);
  }
}
