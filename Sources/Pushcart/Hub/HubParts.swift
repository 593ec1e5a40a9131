import Content
import Postgres
import Providers
import Registry

/// What several parts of the hub stand on.
struct HubParts: Sendable {
  let pool: Pool
  /// What requests ask of the database is answered in time, or with "try again".
  let prompt: PromptDatabase
  let vault: Vault
  let accessKeys: AccessKeyCache
  let pushApps: PushAppCache
  let links: PublicLinks
  let signer: LinkSigner
  let apns: APNsProvider
  let readiness: Readiness

  init(pool: Pool, vault: Vault, links: PublicLinks, signer: LinkSigner, apns: APNsProvider, readiness: Readiness) {
    self.pool = pool
    self.vault = vault
    self.links = links
    self.signer = signer
    self.apns = apns
    self.readiness = readiness
    prompt = PromptDatabase(pool)
    accessKeys = AccessKeyCache(prompt)
    pushApps = PushAppCache(prompt)
  }
}
