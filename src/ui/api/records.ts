/** What the server's answers hold, by the schemas that it describes and checks them with. */
import type * as agents from '../../http/answers/records/agent-schemas.ts'
import type * as catalog from '../../http/answers/records/catalog-schemas.ts'
import type * as knowledgeBases from '../../http/answers/records/knowledge-base-schemas.ts'
import type * as server from '../../http/answers/records/server-schemas.ts'
import type { Wire } from '../../http/openapi/schema-words.ts'

export type Project = Wire<typeof catalog.PROJECT>
export type KnowledgeBase = Wire<typeof knowledgeBases.KNOWLEDGE_BASE>
export type Agent = Wire<typeof agents.AGENT>
export type ServerStatus = Wire<typeof server.STATUS>
export type Job = Wire<typeof catalog.JOB>
export type JobList = Wire<typeof catalog.JOB_LIST>
export type DocumentList = Wire<typeof knowledgeBases.DOCUMENT_LIST>
export type UploadedFile = Wire<typeof server.FILE>
export type View = Wire<typeof catalog.VIEW>
export type Source = Wire<typeof catalog.SOURCE>
