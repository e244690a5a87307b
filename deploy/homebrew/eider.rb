class Eider < Formula
  desc "AI data server in one process: knowledge bases, agents and SQL over HTTP"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@URL@/eider-darwin-arm64.tar.xz"
      sha256 "@SHA256:eider-darwin-arm64.tar.xz@"
    end
    on_intel do
      url "@URL@/eider-darwin-x64.tar.xz"
      sha256 "@SHA256:eider-darwin-x64.tar.xz@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/eider-linux-arm64.tar.xz"
      sha256 "@SHA256:eider-linux-arm64.tar.xz@"
    end
    on_intel do
      url "@URL@/eider-linux-x64.tar.xz"
      sha256 "@SHA256:eider-linux-x64.tar.xz@"
    end
  end

  def install
    bin.install "eider"
  end

  service do
    run [opt_bin/"eider", "serve", "--no-supervisor"]
    environment_variables EIDER_DATA_DIR: var/"eider"
    keep_alive true
    log_path var/"log/eider.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/eider --version")
  end
end
