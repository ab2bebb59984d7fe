import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { errorCode } from "@bunting/runtime";
import { type HttpAnswer, tooLarge } from "./http-client.js";
import { HttpFailure } from "./http-failure.js";

const unpack = promisify(gunzip);

/**
 * The body of an answer. It was asked for as it is, but stores that hold an object packed, such as S3, send it so to everybody.
 *
 * @param maxBytes how many bytes may become of it
 * @throws HttpFailure
 */
export async function unpacked(
  { headers, body }: HttpAnswer,
  host: string,
  maxBytes: number,
): Promise<Buffer> {
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding === "identity" || body.length === 0) return body;
  if (encoding !== "gzip" && encoding !== "x-gzip")
    throw new HttpFailure(
      "encoding",
      `${host} sent the document as ${encoding}, which was not asked for: serve it as it is, or as gzip`,
    );
  try {
    return await unpack(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (errorCode(cause) === "ERR_BUFFER_TOO_LARGE") throw tooLarge("more", maxBytes);
    const why = (cause as Error).message;
    throw new HttpFailure("encoding", `${host} sent the document as gzip that can't be unpacked: ${why}`, {
      cause,
    });
  }
}
