import type { IssuedPair, Validity } from "./issue-certificate.js";

/** One authority of the operator. */
export interface Authority {
  /** Its certificate, in PEM. */
  readonly cert: string;
  /** Its private key, in PEM; absent once it issues no more. */
  readonly key?: string;
  /** When it expires, in ms since 1970, as all times here. */
  readonly validToMs: number;
  /** When it began to be valid. */
  readonly validFromMs: number;
  /** The time by which those who verify our certificates had been told of it; absent until then. */
  readonly trustedMs?: number;
  /** The time when it was replaced: it has issued nothing since. */
  readonly retiredMs?: number;
}

/** The authorities, the oldest first. The newest one that has a key is the one that issues, or is to be the next. */
export type Authorities = readonly Authority[];

/** What the leader knows when it looks at the authorities. */
export interface AuthorityView {
  readonly nowMs: number;
  /** The bundle that was applied last by this process; undefined before the first. */
  readonly appliedBundle: string | undefined;
  readonly create: (validity: Validity) => IssuedPair;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Clocks of other machines may be behind by this much. */
export const clockSkewMs = hourMs;
const authorityLifeMs = 365 * dayMs;
export const leafLifeMs = 7 * dayMs;
/** A certificate of an authority is used only this long after everybody was told of it: API servers and replicas hear of it by a watch. */
export const settleMs = 60_000;
/** The part of its life after which a certificate is replaced. */
export const renewalShare = 2 / 3;
/** Whoever deletes the object that holds them again and again makes a new one each time, and a bundle has to be sent to every API server. */
const maxAuthorities = 4;

/**
 * The authorities as they should be now; the same array if nothing is to change. Call it again after each change, and when `dueMs` has come.
 *
 * | authorities | when | then |
 * | --- | --- | --- |
 * | none | | A |
 * | A | the bundle with A was applied | A trusted |
 * | A trusted | two thirds of its life are over | A trusted, B |
 * | A trusted, B | the bundle with both was applied | A trusted, B trusted |
 * | A trusted, B trusted | `settleMs` later | A retired (without its key), B trusted |
 * | A retired, B trusted | no certificate that A issued can live | B trusted |
 * | any | one has expired | without it |
 * | any | the newest is of the future, because a clock was wrong | A, B as if its life were over |
 */
export function nextAuthorities(authorities: Authorities, view: AuthorityView): Authorities {
  const { nowMs, appliedBundle, create } = view;
  const kept = authorities.filter((each) => nowMs < goneMs(each));
  const newest = kept.at(-1);
  if (newest?.key === undefined || nowMs >= renewalMs(newest) || nowMs < newest.validFromMs)
    return [...kept.slice(1 - maxAuthorities), newAuthority(nowMs, create)];
  const isSettled = newest.trustedMs !== undefined && nowMs >= newest.trustedMs + settleMs;
  const next = kept.map((each) => {
    if (isSettled && each !== newest && each.key !== undefined) return retired(each, nowMs);
    const isTold = each.trustedMs === undefined && appliedBundle?.includes(each.cert.trim()) === true;
    return isTold ? { ...each, trustedMs: nowMs } : each;
  });
  const isSame = next.length === authorities.length && next.every((each, i) => each === authorities[i]);
  return isSame ? authorities : next;
}

/**
 * The authorities after the object that held them was lost, by those that this process still knows: they issue no more, and stay known to those
 * who verify, because certificates of theirs are in use.
 */
export function authoritiesAfterLoss(known: Authorities, nowMs: number): Authorities {
  return known.map((each) => retired(each, nowMs));
}

/** The next time at which something is to change by itself; Infinity: never. */
export function authoritiesDueMs(authorities: Authorities): number {
  const newest = authorities.at(-1);
  if (newest?.key === undefined) return 0;
  const hasOther = authorities.some((each) => each !== newest && each.key !== undefined);
  const settled = hasOther && newest.trustedMs !== undefined ? newest.trustedMs + settleMs : Infinity;
  return Math.min(settled, renewalMs(newest), ...authorities.map(goneMs));
}

/** The authority that certificates are to be issued by; undefined if everybody has still to be told of the only ones that could. */
export function settledIssuer(authorities: Authorities, nowMs: number): Authority | undefined {
  return authorities.findLast(
    ({ key, trustedMs }) => key !== undefined && trustedMs !== undefined && nowMs >= trustedMs + settleMs,
  );
}

function retired(authority: Authority, nowMs: number): Authority {
  const { cert, validFromMs, validToMs, trustedMs, retiredMs = nowMs } = authority;
  return { cert, validFromMs, validToMs, retiredMs, ...(trustedMs === undefined ? {} : { trustedMs }) };
}

function newAuthority(nowMs: number, create: AuthorityView["create"]): Authority {
  const validity = { fromMs: nowMs - clockSkewMs, toMs: nowMs + authorityLifeMs };
  return { ...create(validity), validFromMs: validity.fromMs, validToMs: validity.toMs };
}

function renewalMs({ validFromMs, validToMs }: Authority): number {
  return validFromMs + (validToMs - validFromMs) * renewalShare;
}

/** When an authority has no more to say: it has expired, or all that it issued has. */
function goneMs({ validToMs, retiredMs = Infinity }: Authority): number {
  return Math.min(validToMs, retiredMs + leafLifeMs + clockSkewMs);
}
