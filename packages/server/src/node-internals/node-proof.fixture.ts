import type { NodePart } from "./http-parts.js";

/** A part of node with a proof that it does what is expected of it. */
export interface NodeProof extends Pick<NodePart, "name" | "limit"> {
  readonly works: () => boolean | Promise<boolean>;
}

/** Tries the parts, and returns those that do not do what is expected of them. */
export async function failedProofs(proofs: readonly NodeProof[]): Promise<readonly NodeProof[]> {
  const failed: NodeProof[] = [];
  for (const proof of proofs) {
    const works = await Promise.resolve()
      .then(() => proof.works())
      .catch(() => false);
    if (!works) failed.push(proof);
  }
  return failed;
}
