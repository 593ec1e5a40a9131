import Hybrid
import Wire
import Testing

struct HybridMessageTests {
  @Test func `Message types have the names of the gateway's documents`() {
    #expect(HybridMessage.Kind.allCases.map(\.rawValue) == ["default", "otp", "critical"])
    #expect(HybridMessage.Channel.allCases.map(\.rawValue) == ["SMS", "Push"])
  }
}
