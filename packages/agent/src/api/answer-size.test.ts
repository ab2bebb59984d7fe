import { RpcError } from "@bunting/rpc";
import { expect } from "chai";
import { AnswerSize } from "./answer-size.js";

describe("AnswerSize", () => {
  it("refuses an answer when its parts exceed the limit together", () => {
    const size = new AnswerSize(10);
    size.add(4);
    size.add(6);
    expect(() => size.add(1))
      .to.throw(RpcError, "larger than the 10 bytes")
      .with.property("code", "RESOURCE_EXHAUSTED");
  });
});
