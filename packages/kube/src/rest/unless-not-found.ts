import { KubeError } from "../kube-error.js";

/** The answer to a call; undefined if the object, or its type, does not exist. */
export async function unlessNotFound<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof KubeError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}
