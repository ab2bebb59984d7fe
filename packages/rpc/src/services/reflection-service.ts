import { fileDescriptorSetBase64, reflectionV1 } from "@bunting/protocol";
import { DescriptorIndex } from "./descriptor-index.js";
import { frameMessage } from "../call/framing.js";
import { messageCodec } from "../call/message-codec.js";
import { bidiStreaming, type Method, type ResponseStream, type RequestListener } from "../call/method.js";
import { RpcError, statusCode } from "@bunting/http2/status";

type Request = reflectionV1.ServerReflectionRequest;
type Answer = reflectionV1.ServerReflectionResponse["messageResponse"];

const request = messageCodec(reflectionV1.ServerReflectionRequest);
const response = messageCodec(reflectionV1.ServerReflectionResponse);
/** More than any name needs. */
const maxRequestBytes = 16 * 1024;
/** Both versions have the same wire format. */
const servicePaths = ["v1", "v1alpha"].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);
/** How many requests that arrived together may wait for the answers before theirs to be read; the others are not read from the stream. */
const maxWaiting = 100;
/** Bytes of a waiting request, at least. */
const waitingBytes = 512;

/** Server reflection for the services with these method `paths`, and for itself. The descriptors are read on first use. */
export function reflectionService(paths: readonly string[]): Method[] {
  const services = [...new Set([...paths, ...servicePaths].map(serviceOf))].sort();
  let index: DescriptorIndex | undefined;
  const answer = (asked: Request): Answer => {
    index ??= new DescriptorIndex(Buffer.from(fileDescriptorSetBase64, "base64"));
    return answerTo(asked, services, index);
  };
  return servicePaths.map((path) =>
    bidiStreaming({
      path,
      maxMessageBytes: maxRequestBytes,
      decode: request.decode,
      handle: (out) => new ReflectionStream(out, answer),
    }),
  );
}

/** Answers one request at a time: answers are a thousand times larger, so a client must read them before it asks on. */
class ReflectionStream implements RequestListener<Request> {
  readonly #out: ResponseStream;
  readonly #answer: (asked: Request) => Answer;
  #waiting: Request[] = [];
  #isWriting = false;
  #hasEnded = false;

  constructor(out: ResponseStream, answer: (asked: Request) => Answer) {
    this.#out = out;
    this.#answer = answer;
    out.onClose(() => this.#drop());
  }

  onMessage(asked: Request): void {
    if (this.#waiting.length >= maxWaiting) {
      // The stream stays until its client reads the answers before.
      this.#drop();
      throw new RpcError("RESOURCE_EXHAUSTED", `more than ${maxWaiting} requests at once`, {
        refusal: "pipelining",
      });
    }
    this.#waiting.push(asked);
    this.#out.stream.session.account.charge(waitingBytes);
    if (!this.#isWriting) this.#answerNext();
  }

  onEnd(): void {
    this.#hasEnded = true;
    if (!this.#isWriting) this.#answerNext();
  }

  #drop(): void {
    this.#out.stream.session.account.release(this.#waiting.length * waitingBytes);
    this.#waiting = [];
  }

  #answerNext(): void {
    const asked = this.#waiting.shift();
    this.#isWriting = asked !== undefined;
    if (asked !== undefined) {
      this.#out.stream.session.account.release(waitingBytes);
      this.#out.stream.pauseReading();
      const message = { validHost: asked.host, originalRequest: asked, messageResponse: this.#answer(asked) };
      this.#out.write(frameMessage(response.encode(message)), (error) => {
        if (error === undefined) this.#answerNext();
      });
    } else if (this.#hasEnded) this.#out.end({ code: "OK", message: "" });
    else this.#out.stream.resumeReading();
  }
}

function answerTo(asked: Request, services: readonly string[], index: DescriptorIndex): Answer {
  const question = asked.messageRequest;
  switch (question?.$case) {
    case "listServices":
      return { $case: "listServicesResponse", value: { service: services.map((name) => ({ name })) } };
    case "fileByFilename":
      return filesAnswer(index.fileByName(question.value), `file ${question.value}`);
    case "fileContainingSymbol":
      return filesAnswer(index.fileBySymbol(question.value), `symbol ${question.value}`);
    case "fileContainingExtension":
      return filesAnswer(
        undefined,
        `extension ${question.value.extensionNumber} of ${question.value.containingType}`,
      );
    case "allExtensionNumbersOfType":
      if (!index.hasMessage(question.value)) return filesAnswer(undefined, `message ${question.value}`);
      return {
        $case: "allExtensionNumbersResponse",
        value: { baseTypeName: question.value, extensionNumber: [] },
      };
    case undefined:
      return errorAnswer(statusCode.INVALID_ARGUMENT, "the request asks nothing this server knows");
  }
}

function filesAnswer(files: Buffer[] | undefined, what: string): Answer {
  if (files === undefined) return errorAnswer(statusCode.NOT_FOUND, `this server knows no ${what}`);
  return { $case: "fileDescriptorResponse", value: { fileDescriptorProto: files } };
}

function errorAnswer(errorCode: number, errorMessage: string): Answer {
  return { $case: "errorResponse", value: { errorCode, errorMessage } };
}

/** `/package.Service/Method` → `package.Service`. */
function serviceOf(path: string): string {
  return path.slice(1, path.lastIndexOf("/"));
}
