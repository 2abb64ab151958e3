"""Programs by what they do: tables, and the rules that hold for a whole table.

A program that stands in no table is not known, and to run it is `execute`. A reading program is known only with the
flags listed for it; a program given by its path is known only in the system's own folders.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.shell_arguments import (
    BUILD,
    COMMIT,
    DESTROY,
    EDIT,
    EXECUTE,
    INSTALL,
    NETWORK,
    OUTSIDE,
    PUBLISH,
    READ,
    Arguments,
    Effects,
    Judged,
    arguments,
    listed,
    name,
    names,
    patterns,
    plain,
    specification,
    table,
    verb,
    written,
)
from quintet.domain.shell_syntax import Word

_SUM = "b t z c check tag zero binary text quiet status strict ignore-missing warn w"
READERS: dict[str, str] = {
    "ls": "a A l h t r S R d F 1 i s G g o n p m c u U v x C Z k L H D all almost-all human-readable recursive reverse "
    "directory color sort time time-style group-directories-first full-time size inode classify ignore= hide= si",
    "cat": "n b s A E T v e t number show-all show-ends squeeze-blank number-nonblank",
    "head": "n= c= q v lines= bytes= quiet verbose",
    "tail": "n= c= q v lines= bytes= quiet verbose",
    "wc": "l w c m L lines words bytes chars max-line-length",
    "stat": "c= f L t format= printf= terse dereference",
    "file": "b i L h mime mime-type brief k z",
    "grep": "i n l L c v w x o h H s E F G P q z a I A= B= C= m= e= f= color colour count include= exclude= "
    "exclude-dir= max-count= no-messages ignore-case line-number files-with-matches files-without-match invert-match "
    "word-regexp line-regexp only-matching no-filename with-filename extended-regexp fixed-strings perl-regexp quiet "
    "silent after-context= before-context= context= regexp= file= text null b byte-offset line-buffered",
    "rg": "i n N l c v w x o h H A= B= C= m= e= f= g= t= T= F S s U P q 0 r= files count count-matches glob= type= "
    "type-not= sort= sortr= max-count= json stats ignore-case line-number no-line-number files-with-matches "
    "files-without-match invert-match word-regexp only-matching no-filename with-filename fixed-strings smart-case "
    "case-sensitive multiline pcre2 quiet after-context= before-context= context= regexp= file= color= no-heading "
    "heading max-depth= max-columns= column vimgrep trim passthru replace= iglob= type-list no-messages null",
    "diff": "u U= q N w b B i y a r s p brief unified ignore-all-space ignore-space-change ignore-blank-lines "
    "ignore-case color stat side-by-side width= new-file recursive text minimal strip-trailing-cr exclude= label= "
    "report-identical-files suppress-common-lines",
    "cmp": "l s b n= i= silent quiet verbose bytes=",
    "cut": "d= f= c= b= s z delimiter= fields= characters= bytes= complement output-delimiter= only-delimited",
    "tr": "d s c C t delete squeeze-repeats complement truncate-set1",
    "sort": "n r u k= t= f b h V M g i d c C s z R m numeric-sort reverse unique key= field-separator= ignore-case "
    "human-numeric-sort version-sort stable check random-sort zero-terminated",
    "uniq": "c d u i f= s= w= D z count repeated unique ignore-case all-repeated skip-fields=",
    "nl": "b= n= w= s= v= i= a",
    "od": "A= t= x c d o N= j= v a b address-radix= format=",
    "xxd": "l= s= c= g= p u b e len=",
    "hexdump": "C n= s= v c x d",
    "strings": "a n= t= e= all bytes=",
    "fold": "w= s b width=",
    "fmt": "w= s u",
    "paste": "d= s delimiters= serial",
    "join": "t= 1= 2= o= a= v= i",
    "rev": "",
    "tac": "",
    "expand": "t= i",
    "unexpand": "t= a",
    "basename": "s= a z suffix= multiple",
    "dirname": "z",
    "realpath": "e m s q L P relative-to= relative-base= canonicalize-existing",
    "readlink": "f e m n q canonicalize",
    "du": "s h a c d= k m b x L max-depth= summarize human-readable total apparent-size all exclude= time",
    "df": "h k m T i H a human-readable print-type total inodes local",
    "date": "u d= I R r= utc date= iso-8601 rfc-3339 rfc-email reference= universal",
    "whoami": "",
    "id": "u g n G r un gn",
    "groups": "",
    "uname": "a s r m n v p o i",
    "arch": "",
    "nproc": "all",
    "uptime": "p s",
    "free": "h m g k b t human",
    "ps": "e f u x a A l o= p= C= U= w aux ef forest sort= no-headers pid= H L",
    "pgrep": "f l a x n o c u=",
    "which": "a",
    "whereis": "b m s",
    "type": "a t p P f",
    "tree": "a d L= I= P= C n f h s D p u i F J X v t r dirsfirst noreport gitignore prune charset= filelimit=",
    "cksum": "",
    "sum": "",
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha224sum": _SUM,
    "sha256sum": _SUM,
    "sha384sum": _SUM,
    "sha512sum": _SUM,
    "b2sum": _SUM,
    "column": "t s= c= o= N= x table separator= output-separator=",
    "comm": "1 2 3 i z total output-delimiter=",
    "seq": "s= w f= separator= equal-width",
    "pwd": "L P",
    "base64": "d w= i decode wrap=",
    "jq": "r c s n e a S j M C R raw-output compact-output slurp null-input exit-status sort-keys indent= raw-input",
    "cloc": "",
    "tokei": "",
    "sleep": "",
    "jobs": "l p r s n",
    "wait": "n f",
    "times": "",
    "tty": "s",
    "locale": "a m",
    "hostname": "f s i I d",
    "getconf": "a",
    "lscpu": "",
    "nm": "C D g u A",
    "size": "",
    "ldconfig": "p",
    "printenv": "0",
    "umask": "S p",
    "cal": "",
    "for": "",
}
READERS["egrep"] = READERS["fgrep"] = READERS["zgrep"] = READERS["grep"]
# Words that are no files: whatever they hold is printed, compared or counted.
TALKERS = listed(
    "echo printf true false : test [ expr seq exit return break continue shift sleep wait jobs tr whoami "
    "date basename dirname type which cal umask times tty printenv getconf"
)
UNFLAGGED = listed("echo printf true false : test [ expr exit return break continue shift")
PATTERN_FIRST = listed("grep egrep fgrep zgrep rg jq")
PATTERN_FLAGS = listed("e f regexp file files type-list")
NAMES_ONLY = listed("ls stat du df file tree realpath readlink for")  # show no contents

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
        "pytest py.test ruff mypy pyright black isort flake8 pylint bandit tox nox coverage ninja meson ctest gcc cc "
        "g++ c++ clang clang++ rustc javac scalac kotlinc ghc eslint prettier tsc jest vitest mocha webpack rollup "
        "esbuild mvn gradle gradlew ant sbt bazel swift dotnet gofmt golangci-lint rustfmt shellcheck shfmt hadolint "
        "yamllint ld ar as ranlib strip clang-format clang-tidy sphinx-build mkdocs pre-commit stylelint biome ty "
        "pyrefly xcodebuild rspec rubocop phpunit ava tap cypress playwright",
    ),
    destroy=(
        DESTROY,
        "rm rmdir unlink dd shred truncate mkfs mke2fs fdisk sfdisk parted wipefs mkswap srm fc history ed ex vi vim "
        "nvim view vimdiff gvim rvim emacs emacsclient nano pico micro hx kak joe rimraf del-cli trash "
        "bind enable at batch expect gdb lldb capsh",
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
    build=(BUILD, "test t tst run run-script lint build start stop exec-script tsc typecheck format"),
    read=(READ, "ls list why explain help root prefix bin version"),
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
        build=(BUILD, "build b test t check c clippy fmt bench doc run r clean nextest"),
        read=(READ, "tree metadata pkgid locate-project version help"),
        install=(INSTALL, "add remove update fetch vendor generate-lockfile new init"),
        outside=(INSTALL | OUTSIDE, "install uninstall"),
        publish=(PUBLISH, "publish yank owner login"),
    ),
    "go": table(
        build=(BUILD, "build test vet fmt"),
        read=(READ, "version list doc help"),
        install=(INSTALL, "get mod work"),
        outside=(INSTALL | OUTSIDE, "install"),
        execute=(EXECUTE, "run generate"),
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


def read_program(program: str, words: Sequence[Word]) -> Judged:
    if program in UNFLAGGED or len(words) == 1:
        return Judged(READ, program)
    got = arguments(words[1:], specification(READERS[program]))
    operands = got.operands
    if program in PATTERN_FIRST and not got.odd and PATTERN_FLAGS.isdisjoint(got.flags):
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
    if odd := got.odd or _odd_operand(program, got):
        if program in ("date", "hostname"):
            return Judged(OUTSIDE, f"{program} {odd}: may set the machine's own", reads)
        if odd.startswith(("-o", "--output")) or program in ("uniq", "xxd"):
            writes = [*filter(None, got.values), *(word.text for word in got.operands[:2])]
            return Judged(EDIT | EXECUTE, f"{program} {odd}: may write", reads, writes, globs)
        return Judged(EXECUTE, f"{program} {odd}: more than Quintet knows it to read", reads, (), globs)
    if got.dynamic and program not in TALKERS and program != "for":
        return Judged(EXECUTE, f"{program}: reads what is only known when it runs", reads, (), globs)
    return Judged(READ, program, reads, (), globs)


def _odd_operand(program: str, got: Arguments) -> str:
    """An operand that makes a reading program do something else."""
    if program == "date":
        return next((word.text for word in got.operands if not word.text.startswith("+")), "")
    if program in ("uniq", "xxd") and len(got.operands) > 1:
        return got.operands[1].text
    if program == "hostname" and got.operands:
        return got.operands[0].text
    return ""


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
    writes += got.values
    if program in ("cp", "mv", "ln", "install") and len(got.operands) > 1:
        into = got.operands[-1].text.rstrip("/")
        writes += [f"{into}/{word.text.rstrip('/').rpartition('/')[2]}" for word in got.operands[:-1]]
    globs = patterns(got.operands)
    if got.dynamic:
        return Judged(EDIT | OUTSIDE, f"{program}: changes what is only known when it runs", reads, writes, globs)
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
        return plain(program, DESTROY, rest, "a program to run")
    place = 0
    while place < len(rest) and not rest[place].dynamic and rest[place].text[:1] in ("-", "+"):
        place += 2 if rest[place].text in _FOLDER_FLAGS else 1
    if place >= len(rest):
        effects = INSTALL if program in ("yarn", "pnpm", "bundle", "npm") and not rest else EXECUTE
        return plain(program, effects, rest)
    sub = rest[place].text
    if rest[place].dynamic:
        return plain(program, DESTROY, rest, "a subcommand only known when it runs")
    known = SUBCOMMANDS[program].get(sub)
    if known is None:
        return plain(program, EXECUTE | NETWORK, rest, f"{sub} is not a subcommand Quintet knows")
    after = [*rest[:place], *rest[place + 1 :]]
    effects = known
    if effects == INSTALL and any(word.text in _GLOBAL for word in rest):
        effects = INSTALL | OUTSIDE
    if sub in ("run", "run-script") and any(word.text.startswith(_PUBLISHING_SCRIPTS) for word in after):
        effects = BUILD | PUBLISH
    writes = written(after) if effects == BUILD else ()
    return Judged(effects, f"{program} {sub}: {verb(effects)}", names(after), writes, patterns(after))
