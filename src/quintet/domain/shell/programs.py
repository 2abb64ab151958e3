"""Programs by what they do: tables, and the rules that hold for a whole table.

A program that stands in no table is not known, and to run it is `execute`. A reading program is known only with the
flags listed for it; a program given by its path is known only in the system's own folders.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.wording import word_set
from quintet.domain.permission.protected_paths import only_holds
from quintet.domain.shell.arguments import (
    BUILD,
    COMMIT,
    DELETE,
    DESTROY,
    EDIT,
    EXECUTE,
    INSTALL,
    NETWORK,
    OPAQUE,
    OUTSIDE,
    PUBLISH,
    READ,
    Arguments,
    Effects,
    Judged,
    abbreviates,
    arguments,
    letters,
    name,
    names,
    patterns,
    plain,
    specification,
    table,
    verb,
    written,
)
from quintet.domain.shell.syntax import Word

# What they read is what they are shown: a flag that makes one of them run or write something fails in a sandbox for
# reading. Only what a flag says to write is looked for, so that it gets one in which it can.
READERS = word_set(
    "ls cat head tail wc stat file grep rg diff cmp cut tr sort uniq nl od xxd hexdump strings fold fmt "
    "paste join rev tac expand unexpand basename dirname realpath readlink du df date whoami id groups "
    "uname arch nproc uptime free ps pgrep which whereis type tree cksum sum md5sum sha1sum sha224sum "
    "sha256sum sha384sum sha512sum b2sum column comm seq pwd base64 jq cloc tokei sleep jobs wait times "
    "tty locale hostname getconf lscpu nm size ldconfig printenv umask cal for egrep fgrep zgrep"
)
# Of those of whose operands the first, or any, is no file: the flags that take a value.
_VALUED = {
    "grep": "A= B= C= m= e= f= include= exclude= exclude-dir= max-count= after-context= before-context= context= "
    "regexp= file=",
    "rg": "A= B= C= m= e= f= g= t= T= r= glob= type= type-not= sort= sortr= max-count= after-context= "
    "before-context= context= regexp= file= color= max-depth= max-columns= replace= iglob=",
    "jq": "indent=",
    "date": "u R d= r= f= s= date= reference= file= set= iso-8601 rfc-3339",
}
_VALUED["egrep"] = _VALUED["fgrep"] = _VALUED["zgrep"] = _VALUED["grep"]
# Words that are no files: whatever they hold is printed, compared or counted.
TALKERS = word_set(
    "echo printf true false : test [ expr seq exit return break continue shift sleep wait jobs tr whoami "
    "date basename dirname type which cal umask times tty printenv getconf"
)
UNFLAGGED = word_set("echo printf true false : test [ expr exit return break continue shift")
PATTERN_FIRST = word_set("grep egrep fgrep zgrep rg jq")
PATTERN_FLAGS = word_set("e f regexp file files type-list")
NAMES_ONLY = word_set("ls stat du df file tree realpath readlink for")  # show no contents

EDITORS: dict[str, str] = {
    "mkdir": "p v m= parents verbose mode=",
    "touch": "a c m d= t= r= h no-create date= reference= time=",
    "cp": "r R a f i n p u v L P d T H x l s b t= recursive archive force interactive no-clobber preserve update "
    "verbose dereference no-dereference no-target-directory target-directory= parents reflink backup link",
    "mv": "f i n u v T b t= force interactive no-clobber update verbose no-target-directory target-directory= backup",
    "ln": "s f n r v T i t= symbolic force no-dereference relative verbose no-target-directory target-directory=",
    "install": "d m= D v p t= C T directory mode= verbose target-directory= compare preserve-timestamps",
    "tee": "a i p append ignore-interrupts",
    "patch": "p= i= R N s u b f E t l strip= input= reverse forward silent batch force dry-run backup verbose "
    "directory= d= unified quiet",
    "mktemp": "d u q t p= tmpdir suffix= directory",
    "gzip": "k f c d v 1 9 keep force stdout decompress best fast l t",
    "zip": "r q 9 1 j x= i= u y v recurse-paths quiet",
    "split": "l= b= n= d a= lines= bytes= number= numeric-suffixes suffix-length= additional-suffix= C=",
    "csplit": "f= n= s k z b= prefix= digits= quiet",
    "dos2unix": "",
    "unix2dos": "",
}
EDITORS["gunzip"] = EDITORS["bzip2"] = EDITORS["bunzip2"] = EDITORS["xz"] = EDITORS["unxz"] = EDITORS["gzip"]
EDITORS["zstd"] = EDITORS["gzip"]
SOURCES_FIRST = frozenset({"cp", "install"})  # all but the last operand are only read

PROGRAMS: dict[str, Effects] = table(
    build=(
        BUILD,
        "pytest py.test ruff mypy pyright black isort flake8 pylint bandit tox nox ninja meson ctest gcc cc "
        "g++ c++ clang clang++ rustc javac scalac kotlinc ghc eslint prettier tsc jest vitest mocha webpack rollup "
        "esbuild mvn gradle gradlew ant sbt bazel swift dotnet gofmt golangci-lint rustfmt shellcheck shfmt hadolint "
        "yamllint ld ar as ranlib strip clang-format clang-tidy sphinx-build mkdocs pre-commit stylelint biome ty "
        "pyrefly xcodebuild rspec rubocop phpunit ava tap cypress playwright",
    ),
    destroy=(
        DESTROY,
        "dd shred mkfs mke2fs fdisk sfdisk parted wipefs mkswap srm fc history rimraf del-cli trash bind enable at "
        "batch capsh",
    ),
    delete=(DELETE, "rm rmdir unlink truncate"),
    opaque=(
        OPAQUE,
        "ed ex vi vim nvim view vimdiff gvim rvim emacs emacsclient nano pico micro hx kak joe expect gdb lldb",
    ),
    outside=(
        OUTSIDE,
        "chown chgrp mount umount systemctl service crontab kill pkill killall xkill skill reboot shutdown halt "
        "poweroff init telinit modprobe insmod rmmod sysctl useradd userdel usermod groupadd passwd chpasswd visudo "
        "hostnamectl timedatectl localectl loginctl journalctl iptables ip6tables nft ufw swapon swapoff losetup "
        "chattr setfacl setcap mknod mkfifo tmux screen disown suspend hwclock update-alternatives launchctl defaults "
        "osascript open xdg-open start-stop-daemon daemonize renice tc ifconfig route terraform ansible "
        "ansible-playbook vagrant virsh bwrap firejail gpg gpg-agent ssh-agent ssh-add ssh-keygen keyctl pass "
        "systemd-run busctl dbus-send wall write logger fuser",
    ),
    network=(
        NETWORK,
        "ftp sftp ping ping6 dig host nslookup whois traceroute mtr nmap http https "
        "httpie aria2c lynx w3m links elinks rclone tftp lftp",
    ),
    remote=(
        OUTSIDE | NETWORK,
        "ssh scp mosh docker podman nerdctl kubectl helm docker-compose skopeo buildah minikube kind aws gcloud az "
        "gsutil doctl flyctl heroku vercel netlify psql mysql mongo redis-cli ip",
    ),
    system=(
        INSTALL | OUTSIDE | NETWORK,
        "apt apt-get aptitude dpkg dnf yum rpm brew pacman zypper apk snap flatpak port emerge nix nix-env nix-shell "
        "conda mamba micromamba asdf rustup nvm pyenv",
    ),
    publish=(PUBLISH, "twine goreleaser semantic-release mail mailx sendmail mutt msmtp swaks"),
)

_PIP = table(
    read=(READ, "list show freeze check help debug inspect"),
    install=(INSTALL, "install uninstall download wheel sync compile"),
    outside=(OUTSIDE, "config cache"),
)
_NODE = table(
    build=(BUILD, "test t tst run run-script lint build start stop exec-script tsc typecheck format pack"),
    edit=(EDIT, "pkg"),
    read=(READ, "ls list why explain help root prefix bin version fund"),
    install=(INSTALL, "install i add ci update up upgrade remove rm uninstall un dedupe prune rebuild init link audit"),
    network=(NETWORK, "view info show search outdated ping"),
    outside=(OUTSIDE, "config set get cache store"),
    publish=(PUBLISH, "publish unpublish deprecate login logout adduser access owner dist-tag token star"),
)
SUBCOMMANDS: dict[str, dict[str, Effects]] = {
    "npm": _NODE,
    "yarn": _NODE,
    "pnpm": _NODE,
    "bun": _NODE,
    "pip": _PIP,
    "pip3": _PIP,
    "uv": table(
        install=(INSTALL, "sync add remove lock venv init pip export"),
        read=(READ, "tree version help"),
        build=(BUILD, "build format"),
        publish=(PUBLISH, "publish"),
        outside=(OUTSIDE, "tool python cache self"),
    ),
    "poetry": table(
        install=(INSTALL, "install add remove update lock sync init new"),
        read=(READ, "show check about env version"),
        build=(BUILD, "build"),
        publish=(PUBLISH, "publish"),
        outside=(OUTSIDE, "config self cache"),
    ),
    "pipenv": table(install=(INSTALL, "install sync lock update uninstall"), read=(READ, "graph verify check")),
    "cargo": table(
        build=(BUILD, "build b test t check c clippy fmt bench doc run r clean nextest rustc rustdoc fix"),
        read=(READ, "tree metadata pkgid locate-project version help"),
        network=(NETWORK, "search info audit outdated"),
        install=(INSTALL, "add remove update fetch vendor generate-lockfile new init"),
        outside=(INSTALL | OUTSIDE, "install uninstall"),
        publish=(PUBLISH, "publish yank owner login"),
    ),
    "go": table(
        build=(BUILD, "build test vet fmt"),
        read=(READ, "version list doc help env"),
        install=(INSTALL, "get mod work"),
        outside=(INSTALL | OUTSIDE, "install"),
        execute=(EXECUTE, "run generate tool"),
    ),
    "gem": table(
        read=(READ, "list help"), install=(INSTALL, "install update uninstall"), publish=(PUBLISH, "push yank")
    ),
    "bundle": table(install=(INSTALL, "install update add remove lock"), read=(READ, "list show check info")),
    "composer": table(install=(INSTALL, "install update require remove"), read=(READ, "show validate")),
    "mix": table(build=(BUILD, "test compile format"), install=(INSTALL, "deps.get"), publish=(PUBLISH, "hex.publish")),
    "deno": table(build=(BUILD, "test check lint fmt"), execute=(EXECUTE, "task")),
    "svn": table(
        read=(READ, "info"), network=(NETWORK | EDIT | COMMIT, "update up checkout co"), publish=(PUBLISH, "commit ci")
    ),
    "hatch": table(build=(BUILD, "build test fmt version"), publish=(PUBLISH, "publish")),
    "flit": table(build=(BUILD, "build"), install=(INSTALL, "install"), publish=(PUBLISH, "publish")),
}
_GLOBAL = frozenset({"-g", "--global", "--user", "--break-system-packages", "--system", "--location=global"})
_FOLDER_FLAGS = frozenset({"-C", "--prefix", "--cwd", "--dir", "--directory", "--project", "--filter", "-F", "-w"})
_RUNS_A_PROGRAM = ("--config", "--script-shell", "--node-options", "-exec", "-toolexec", "-vettool", "--exec", "--eval")
_PUBLISHING_SCRIPTS = ("publish", "deploy", "release", "push", "upload")


_RUNS = {"sort": ("--compress-program",), "rg": ("--pre", "--hostname-bin")}  # with which a reader runs a program
_OUTPUTS = frozenset({"uniq", "xxd", "sort", "tree"})  # readers with an argument that names a file to write


def read_program(program: str, words: Sequence[Word]) -> Judged:
    if program in UNFLAGGED or len(words) == 1:
        return Judged(READ, program)
    rest = words[1:]
    hides = program in _RUNS and any(abbreviates(word.text, *_RUNS[program]) for word in rest)
    if program == "date":
        rest = [word for word in rest if word.text[:2] != "-I"]  # `-Iseconds` is one flag
    got = arguments(rest, specification(_VALUED.get(program, "")))
    operands = got.operands
    if program in PATTERN_FIRST and PATTERN_FLAGS.isdisjoint(got.flags):
        operands = operands[1:]
    if program in TALKERS:
        operands = []
    reads: list[str] = []
    globs: list[str] = []
    for word in operands:
        reads += name(word.text)
        if word.glob and program not in NAMES_ONLY:
            globs.append(word.text)
    for value in got.values:
        if value and not value.isdigit():
            reads += name(value)
    if program in ("date", "hostname") and (sets := _sets(program, got)):
        return Judged(OUTSIDE, f"{program} {sets}: may change a system setting", reads)
    if program in _OUTPUTS and _writes(program, words, got):
        writes = [*filter(None, got.values), *(word.text for word in got.operands[:2])]
        return Judged(EDIT | EXECUTE, f"{program}: may write", reads, writes, globs, hides=hides)
    if got.dynamic and program not in TALKERS and program != "for":
        return Judged(
            EXECUTE, f"{program}: which files it reads is known only when it runs", reads, (), globs, hides=hides
        )
    return Judged(READ, program, reads, (), globs, hides=hides)


_SETTING = ("set", "file", "boot")  # long flags, which may be abbreviated


def _sets(program: str, got: Arguments) -> str:
    """What makes date or hostname set what they else tell."""
    if got.flags & {"s", "F", "b"} or any(word.startswith(flag) for word in _SETTING for flag in got.flags if flag[1:]):
        return "-s"
    return next((word.text for word in got.operands if program == "hostname" or word.text[:1] not in ("+", "")), "")


def _writes(program: str, words: Sequence[Word], got: Arguments) -> bool:
    """Whether an argument of a reading program names a file to write."""
    if program in ("uniq", "xxd"):
        return len(got.operands) > 1 or "r" in got.flags
    return any("o" in letters(word.text) or abbreviates(word.text, "--output") for word in words[1:])


def edit_program(program: str, words: Sequence[Word]) -> Judged:
    got = arguments(words[1:], specification(EDITORS[program]))
    reads = [found for word in got.operands for found in name(word.text)] + got.values
    writes = [word.text for word in got.operands]
    if (
        program in SOURCES_FIRST
        and not any(word.glob for word in got.operands[-1:])
        and not got.flags & {"t", "target-directory", "d", "directory"}
    ):
        writes = writes[-1:]
    if program == "mkdir":
        writes = [f"{path}/(new)" if only_holds(path) else path for path in writes]
    writes += got.values
    if program in ("cp", "mv", "ln", "install") and len(got.operands) > 1:
        into = got.operands[-1].text.rstrip("/")
        writes += [f"{into}/{word.text.rstrip('/').rpartition('/')[2]}" for word in got.operands[:-1]]
    globs = patterns(got.operands)
    if got.dynamic:
        return Judged(
            EDIT | OPAQUE, f"{program}: which files it changes is known only when it runs", reads, writes, globs
        )
    if got.odd:
        return Judged(EDIT | EXECUTE, f"{program} {got.odd}: a flag Quintet does not know", reads, writes, globs)
    if program == "patch":
        return Judged(EDIT | EXECUTE, "patch: writes where its input says", reads, writes, globs)
    return Judged(EDIT, f"{program}: changes files", reads, writes, globs)


def with_subcommand(program: str, words: Sequence[Word]) -> Judged:
    rest = words[1:]
    if rest and rest[0].text in ("--version", "-V", "-v", "--help", "-h") and len(rest) == 1:
        return Judged(READ, f"{program}: reads")
    if any(word.text.startswith(_RUNS_A_PROGRAM) for word in rest):
        return plain(program, OPAQUE, rest, "a program to run")
    place = 0
    while place < len(rest) and not rest[place].dynamic and rest[place].text[:1] in ("-", "+"):
        place += 2 if rest[place].text in _FOLDER_FLAGS else 1
    if place >= len(rest):
        effects = INSTALL if program in ("yarn", "pnpm", "bundle", "npm") and not rest else EXECUTE
        return plain(program, effects, rest)
    sub = rest[place].text
    if rest[place].dynamic:
        return plain(program, OPAQUE, rest, "a subcommand known only when it runs")
    known = SUBCOMMANDS[program].get(sub)
    if sub == "workspace" and program == "yarn" and not any(word.dynamic for word in rest[place : place + 2]):
        return with_subcommand(program, (words[0], *rest[:place], *rest[place + 2 :]))
    if known is None and program in ("yarn", "pnpm") and sub.replace("-", "").replace(":", "").isalnum():
        return with_subcommand(program, (words[0], *rest[:place], Word("run"), *rest[place:]))  # a script of that name
    if known is None:
        return plain(program, EXECUTE | NETWORK, rest, f"{sub} is not a subcommand Quintet knows")
    after = [*rest[:place], *rest[place + 1 :]]
    effects = known
    if effects == INSTALL and any(word.text in _GLOBAL for word in rest):
        effects = INSTALL | OUTSIDE
    if (
        program == "go"
        and sub == "env"
        and any("w" in word.text or "u" in word.text for word in rest if word.text[:1] == "-")
    ):
        effects = OUTSIDE
    if sub in ("run", "run-script") and any(word.text.startswith(_PUBLISHING_SCRIPTS) for word in after):
        effects = BUILD | PUBLISH
    writes = written(after) if effects == BUILD else ()
    return Judged(effects, f"{program} {sub}: {verb(effects)}", names(after), writes, patterns(after))
