import Foundation
import Testing
import Wire

@Suite struct MessageReplyTests {
  @Test(arguments: [
    MessageReply.example, MessageReply(messageId: MessageID(SendoutID(1), 2), pushes: []),
    MessageReply(
      messageId: MessageID(SendoutID(9_007_199_254_740_991), 3), reference: #"a "quoted" \ käse/🧀"#,
      deliverAt: .example, isDue: false,
      pushes: [
        MessageReply.Push(pushNo: PushNumber(7), appType: .firebase, state: .queued),
        MessageReply.Push(pushNo: PushNumber(8), appType: .ios, state: .failed, reason: "Bad\nToken"),
      ]),
    MessageReply(
      messageId: MessageID(SendoutID(1), 3), heldUntil: .example,
      pushes: [MessageReply.Push(pushNo: PushNumber(9), appType: .ios, state: .waiting, reason: "quiet")]),
    MessageReply(messageId: MessageID(SendoutID(9), 1), pushes: [.example], testOf: SendoutID(7)),
  ])
  func `The JSON written by hand is what an encoder writes`(reply: MessageReply) throws {
    #expect(reply.json == (try JSONCoding.encode(reply)))
  }
}
