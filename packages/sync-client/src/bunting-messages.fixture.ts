/** Not a test: the messages of bunting.sync.v1 through the generated code, as a test likes to write them. */
import { buntingSyncV1 } from "@bunting/protocol";

type Case<Message extends { readonly $case: string; readonly value: unknown }> = {
  [Name in Message["$case"]]?: Extract<Message, { readonly $case: Name }>["value"];
};
export type Request = Case<NonNullable<buntingSyncV1.SyncRequest["message"]>>;
export type Response = Case<NonNullable<buntingSyncV1.SyncResponse["message"]>>;

/** @param bytes a SyncRequest */
export function readRequest(bytes: Uint8Array): Request {
  const { message } = buntingSyncV1.SyncRequest.decode(bytes);
  return message === undefined ? {} : { [message.$case]: message.value };
}

/** @param response with one property */
export function writeResponse(response: Response): Buffer {
  const [[$case, value] = ["", undefined]] = Object.entries(response);
  const message = { $case, value } as NonNullable<buntingSyncV1.SyncResponse["message"]>;
  return Buffer.from(buntingSyncV1.SyncResponse.encode({ message }).finish());
}

export function writeVersion(version: Partial<buntingSyncV1.Version>): Buffer {
  const whole = { uid: "", generation: "0", resourceVersion: "", digest: Buffer.alloc(0), ...version };
  return Buffer.from(buntingSyncV1.Version.encode(whole).finish());
}
