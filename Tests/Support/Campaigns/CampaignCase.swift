public import Wire

/// A customer, the customer's contacts and sendouts, and when hubs or the database were away. Moments are seconds since 1970-01-01T00:00Z.
public struct CampaignCase: Sendable {
  public var timeZone: String
  public var quietHours: QuietHours?
  public var caps: [Cap]
  public var contacts: [Contact] = []
  public var sendouts: [Sendout] = []
  /// In their order, and apart from each other. Neither hubs nor people do anything in one.
  public var outages: [Range<Int>] = []

  public init(timeZone: String, quietHours: QuietHours?, caps: [Cap]) {
    self.timeZone = timeZone
    self.quietHours = quietHours
    self.caps = caps
  }

  public struct Contact: Sendable {
    /// Of the ledger, once it is there.
    public var id: Int64 = 0
    public var zone: String?
    public var country: String?
    /// Whether the audiences of all sendouts leave it out.
    public var isExcluded = false
    public var suppression: SuppressionScope?
    /// What has reached it before, the earliest first.
    public var reached: [Reached] = []
    public var devices: [Device] = []

    public init() {}
  }

  public struct Reached: Sendable {
    public var at: Int
    public var purpose: MessagePurpose

    public init(at: Int, purpose: MessagePurpose) {
      self.at = at
      self.purpose = purpose
    }
  }

  public struct Device: Sendable {
    public var id: Int64 = 0
    public var zone: String?
    public var country: String?
    public var registeredAt: Int
    public var isValid = true
    public var isSandbox = false
    public var suppression: SuppressionScope?

    public init(registeredAt: Int) { self.registeredAt = registeredAt }
  }

  public struct Sendout: Sendable {
    public var id: Int64 = 0
    public var purpose: MessagePurpose
    public var campaign: CampaignFields
    /// Of its message, in seconds.
    public var ttl: Int?
    /// When somebody makes it, which schedules it unless it has no time.
    public var madeAt: Int
    /// When somebody starts it by hand.
    public var startedAt: Int?
    /// When somebody resumes it, if it waits because it was late.
    public var resumedAt: Int?
    /// When somebody pauses it and resumes it again, if it runs by then. Not while hubs are away.
    public var pause: Range<Int>?

    public init(purpose: MessagePurpose, campaign: CampaignFields, madeAt: Int) {
      self.purpose = purpose
      self.campaign = campaign
      self.madeAt = madeAt
    }
  }

  /// A moment, or the first after it at which hubs are there.
  public func available(_ moment: Int) -> Int { outages.first { $0.contains(moment) }?.upperBound ?? moment }
}

/// What becomes of a sendout by the model, or became of it in the ledger.
public struct CampaignOutcome: Sendable, Equatable {
  /// When its audience was frozen; nil while it waits for a person.
  public var frozenAt: Int?
  /// How many contacts came to each step. Steps without any are not there.
  public var steps: [PreflightReply.StepName: Int] = [:]
  /// By the device.
  public var pushes: [Int64: Push] = [:]

  public init() {}

  public enum Push: Sendable, Equatable {
    /// - Parameters:
    ///   - planned: when it was planned, if it was.
    ///   - variant: 0 for one that has waited for a winner.
    case sent(planned: Int?, at: Int, variant: Int?)
    /// The state and the reason.
    case ended(PushState, String?)
  }
}
