import { type KnowledgeBaseAddress, KnowledgeBaseFrame } from './knowledge-base-frame.tsx'

export function DocumentsView({ project, name }: KnowledgeBaseAddress) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <p>DocumentsView</p>
    </KnowledgeBaseFrame>
  )
}
