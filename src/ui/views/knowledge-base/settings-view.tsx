import { type KnowledgeBaseAddress, KnowledgeBaseFrame } from './knowledge-base-frame.tsx'

export function KnowledgeBaseSettingsView({ project, name }: KnowledgeBaseAddress) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <p>KnowledgeBaseSettingsView</p>
    </KnowledgeBaseFrame>
  )
}
