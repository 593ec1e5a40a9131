/// Every page and every action of the console, a line for each part.
enum ConsolePages {
  static let all: [ConsolePage] = parts.flatMap(\.pages)
  static let actions: [ConsoleAction] = parts.flatMap(\.actions)

  private static let parts: [(pages: [ConsolePage], actions: [ConsoleAction])] = [
    (OverviewPages.pages, OverviewPages.actions),
    (SendoutPages.pages, SendoutPages.actions), (ComposerPages.pages, ComposerPages.actions),
    (ContactPages.pages, ContactPages.actions), (ContactMessagePages.pages, ContactMessagePages.actions),
    (ErasurePages.pages, ErasurePages.actions),
    (ListPages.pages, ListPages.actions),
    (ImportPages.pages, ImportPages.actions), (DownloadPages.pages, DownloadPages.actions),
    (SuppressionPages.pages, SuppressionPages.actions),
    (SegmentPages.pages, SegmentPages.actions),
    (TriggerPages.pages, TriggerPages.actions), (MessagePages.pages, MessagePages.actions),
    (ContentPages.pages, ContentPages.actions), (AppPages.pages, AppPages.actions),
    (SMSPages.pages, SMSPages.actions), (SoftphonePages.pages, SoftphonePages.actions),
    (HybridPages.pages, HybridPages.actions), (DataTreePages.pages, DataTreePages.actions),
    (WebhookPages.pages, WebhookPages.actions),
    (CustomerPages.pages, CustomerPages.actions), (KeyPages.pages, KeyPages.actions),
    (UserPages.pages, UserPages.actions), (AuditPages.pages, AuditPages.actions),
    (CalendarPages.pages, CalendarPages.actions),
    (EventWebhookPages.pages, EventWebhookPages.actions), (EventDeliveryPages.pages, EventDeliveryPages.actions),
  ]
}
