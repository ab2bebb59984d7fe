import {
  clockSkewMs,
  leafLifeMs,
  renewalShare,
  settledIssuer,
  settleMs,
  type Authorities,
  type Authority,
} from "./authority.js";
import type { IssuedPair, Validity } from "./issue-certificate.js";

/** The certificate that this replica serves with. Its key is never stored. */
export interface Leaf extends IssuedPair {
  /** The certificate of the authority that issued it. */
  readonly issuer: string;
  readonly validToMs: number;
  /** When it is to be replaced. */
  readonly renewMs: number;
}

/** Issues a certificate of this replica; `issueLeaf` with its names. */
export type IssueLeaf = (authority: IssuedPair, validity: Validity) => IssuedPair;

/**
 * The certificate to serve with from now on: the one that is held, as long as it is good, or a new one. Undefined while there is no authority
 * to issue one.
 *
 * | an authority that everybody knows may issue | held | then |
 * | --- | --- | --- |
 * | yes | of it, and not due | held |
 * | yes | anything else | a new one of it |
 * | no | of a known authority, not due | held |
 * | no | of a known authority, due, and it may issue | a new one of it |
 * | no | of a known authority that issues no more, and valid | held |
 * | no | nothing, or of no use | a new one of the oldest that can issue: those who verify know it first |
 *
 * @param lifeMs for how long a new one is valid, unless its authority expires before
 */
export function nextLeaf(
  authorities: Authorities,
  held: Leaf | undefined,
  nowMs: number,
  issue: IssueLeaf,
  lifeMs = leafLifeMs,
): Leaf | undefined {
  const settled = settledIssuer(authorities, nowMs);
  if (settled !== undefined) {
    const isGood = held?.issuer === settled.cert && !isLeafDue(held, nowMs, lifeMs);
    return isGood ? held : newLeaf(settled, nowMs, issue, lifeMs);
  }
  const issuer = authorities.find(({ cert }) => cert === held?.issuer);
  if (held !== undefined && issuer !== undefined && nowMs < held.validToMs) {
    const isDue = isLeafDue(held, nowMs, lifeMs) && issuer.key !== undefined;
    return isDue ? newLeaf(issuer, nowMs, issue, lifeMs) : held;
  }
  const first = authorities.find(({ key, validToMs }) => key !== undefined && nowMs < validToMs);
  return first === undefined ? held : newLeaf(first, nowMs, issue, lifeMs);
}

/** Also if it was issued in the future: then the clock was wrong, and nobody accepts the certificate yet. */
function isLeafDue({ renewMs }: Leaf, nowMs: number, lifeMs: number): boolean {
  return nowMs >= renewMs || renewMs - nowMs > lifeMs * renewalShare + clockSkewMs;
}

/** The next time at which another certificate may be due; Infinity: only when the authorities change. */
export function leafDueMs(authorities: Authorities, held: Leaf | undefined, nowMs: number): number {
  const settling = authorities.map(({ trustedMs = Infinity }) => trustedMs + settleMs);
  const ends = [held?.renewMs ?? Infinity, held?.validToMs ?? Infinity];
  return Math.min(...[...settling, ...ends].filter((at) => at > nowMs));
}

/** @param authority one that has its key */
function newLeaf(
  { cert, key = "", validToMs }: Authority,
  nowMs: number,
  issue: IssueLeaf,
  lifeMs: number,
): Leaf {
  const fromMs = nowMs - clockSkewMs;
  const toMs = Math.min(nowMs + lifeMs, validToMs);
  const pair = issue({ cert, key }, { fromMs, toMs });
  return { ...pair, issuer: cert, validToMs: toMs, renewMs: nowMs + (toMs - nowMs) * renewalShare };
}
