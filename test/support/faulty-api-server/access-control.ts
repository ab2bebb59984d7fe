import type { ApiRequest } from "./api-request.js";
import type { Exchange } from "./exchange.js";
import { group, plural } from "./flag-object.js";
import { badRequest, forbidden, unauthorized, type Access, type Status } from "./status.js";

export type Allows = (access: Access) => boolean;

/** Authentication and authorization of requests. */
export class AccessControl {
  /** The valid tokens; undefined: no token is required. */
  #tokens: ReadonlySet<string> | undefined;
  allows: Allows = () => true;
  /** Answers reviews in place of `allows`, so that they may contradict RBAC. */
  reviewAnswer: Allows | undefined;

  setTokens(tokens: readonly string[] | undefined): void {
    this.#tokens = tokens === undefined ? undefined : new Set(tokens);
  }

  /** True if a token is required and the request has none that is valid. */
  isUnknown({ token }: ApiRequest): boolean {
    return this.#tokens !== undefined && (token === undefined || !this.#tokens.has(token));
  }

  /** Why the request is refused; undefined if it is not. A request without a token is from system:anonymous: forbidden, not unauthorized. */
  refusal(request: ApiRequest): Status | undefined {
    const isUnknown = this.isUnknown(request);
    if (isUnknown && request.token !== undefined) return unauthorized();
    if (request.kind === "other") return undefined;
    const access = accessOf(request);
    if (isUnknown) return forbidden("system:anonymous", access);
    if (request.kind === "review") return undefined;
    return this.allows(access) ? undefined : forbidden("system:serviceaccount:test:proxy", access);
  }

  async review(exchange: Exchange): Promise<{ code: number; body: unknown }> {
    const review = JSON.parse(await exchange.body()) as SelfSubjectAccessReview;
    const asked = review.spec?.resourceAttributes;
    if (asked?.verb === undefined) {
      const refusal = badRequest("spec.resourceAttributes.verb is required");
      return { code: refusal.code, body: refusal };
    }
    const allows = this.reviewAnswer ?? this.allows;
    const allowed = allows({
      verb: asked.verb,
      group: asked.group ?? "",
      resource: asked.resource ?? "",
      namespace: emptyIsAll(asked.namespace),
      name: emptyIsAll(asked.name),
    });
    const status = allowed ? { allowed, reason: "RBAC: allowed by the test" } : { allowed };
    return { code: 201, body: { ...review, metadata: {}, status } };
  }
}

interface SelfSubjectAccessReview {
  readonly spec?: { readonly resourceAttributes?: Partial<Record<keyof Access, string>> };
}

/** What RBAC is asked about: a fieldSelector on metadata.name counts as the name. */
export function accessOf(request: ApiRequest): Access {
  const verb = request.kind === "list" ? "list" : request.kind === "review" ? "create" : "watch";
  return { verb, group, resource: plural, namespace: request.namespace, name: request.name };
}

function emptyIsAll(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
