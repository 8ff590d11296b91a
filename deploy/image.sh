#!/usr/bin/env bash
# The image of galen-agent, galen and galen-driver: the programs, the shared libraries that they load and
# what says whose these are; no shell, no package manager. Made of GNU tar, gzip and a few lines of JSON
# (docs/adr/0008-dependencies.md). The same programs give the same bytes, whoever makes them and when.
# Usage: image.sh BIN-DIRECTORY OUT-DIRECTORY VERSION. Writes OUT/galen.tar (an OCI layout, as an archive)
# and OUT/galen.spdx.json (what is in it, SPDX 2.3); prints both paths, digest and size.
set -euo pipefail
export LC_ALL=C TZ=UTC

readonly BIN=$1 OUT=$2 VERSION=$3
readonly PROGRAMS=(galen-agent galen galen-driver)
readonly NAME=localhost/galen:$VERSION
readonly BYTES_MAX=$((30 * 1000 * 1000))
# One time for every file: what is in an image does not change because it was made again.
readonly EPOCH=1970-01-01T00:00:00Z
WORK=$(mktemp -d "${TMPDIR:-/tmp}/galen-image.XXXXXX")
readonly WORK
trap 'rm -rf "$WORK" "$OUT"/galen.{tar,spdx.json}.new' EXIT

die() { printf 'image: %s\n' "$*" >&2; exit 1; }

# ---- what goes in ------------------------------------------------------------------------------

# The files that the loader would load for the programs, as it names them, its own included.
libraries() {
  local program
  for program in "${PROGRAMS[@]}"; do
    [[ -x $BIN/$program ]] || die "no $BIN/$program: ./dev build first"
    ldd "$BIN/$program" || die "$BIN/$program is no program of this machine"
  done | awk '/not found/ { print "missing " $1 > "/dev/stderr"; bad = 1 }
              $2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/" { print $1 }
              END { exit bad }' | sort -u
}

# dpkg knows a file by one of its two names, since /lib is a link to /usr/lib.
package_of() {
  dpkg-query -S "$1" 2>/dev/null || dpkg-query -S "${1#/usr}" 2>/dev/null ||
    die "no Debian package owns $1, so nobody can say what is in the image"
}

# put ROOT FILE PATH MODE: below ROOT, where /lib and /lib64 are links into /usr as in Debian 12.
put() {
  install -D -m "$4" "$2" "$1/${3#/}"
}

# Debian's own libraries, with dpkg's entry of each package for whoever looks for known faults, and
# the licences under which they may be passed on.
fill_libraries() {
  local root=$1 library real package
  mkdir -p "$root"/{etc,usr/lib,usr/lib64,var/lib/dpkg/status.d}
  ln -s usr/lib "$root/lib"
  ln -s usr/lib64 "$root/lib64"
  # A statement of its own: nobody looks at how one ends whose output is redirected to a loop's input.
  libraries >"$WORK/list"
  while read -r library; do
    # The file itself, under the name by which the loader asks for it.
    real=$(readlink -f "$library")
    put "$root" "$real" "$(readlink -f "$(dirname "$library")")/$(basename "$library")" 0755
    package=$(package_of "$real")
    echo "${package%%:*}"
  done <"$WORK/list" | sort -u >"$WORK/packages"
  [[ -s $WORK/packages ]] || die "no libraries were found"
  while read -r package; do
    dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
    put "$root" "/usr/share/doc/$package/copyright" "/usr/share/doc/$package/copyright" 0644
  done <"$WORK/packages"
  put "$root" "$(readlink -f /etc/os-release)" /etc/os-release 0644
  printf 'root:x:0:0:root:/:/sbin/nologin\n' >"$root/etc/passwd"
  printf 'root:x:0:\n' >"$root/etc/group"
}

# Without what only debuggers read, and the build's id, which is a hash of that as well: the directory
# in which a program was built is in it.
fill_programs() {
  local root=$1 program
  for program in "${PROGRAMS[@]}"; do
    mkdir -p "$root/usr/bin"
    strip --strip-all --remove-section=.note.gnu.build-id -o "$root/usr/bin/$program" "$BIN/$program"
    chmod 0755 "$root/usr/bin/$program"
  done
}

# ---- an OCI layout -----------------------------------------------------------------------------

# archive DIRECTORY: a tar that does not show when and by whom it was made.
archive() {
  tar --create --directory "$1" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner \
    --mtime="$EPOCH" --mode=u+rwX,go+rX,go-w .
}

sha() { sha256sum "$1" | cut -d' ' -f1; }

# keep FILE: moves it among the blobs and prints its digest.
keep() {
  local digest
  digest=$(sha "$1")
  mv "$1" "$WORK/layout/blobs/sha256/$digest"
  echo "$digest"
}

# descriptor TYPE DIGEST
descriptor() {
  printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d' "$1" "$2" \
    "$(stat -c %s "$WORK/layout/blobs/sha256/$2")"
}

# Two layers, so that a new release of Galen brings only its own.
layers=() diffs=()
add_layer() {
  archive "$WORK/$1" >"$WORK/$1.tar"
  diffs+=("$(sha "$WORK/$1.tar")")
  # -n: without the name and time of what was packed.
  gzip -n -9 "$WORK/$1.tar"
  layers+=("$(keep "$WORK/$1.tar.gz")")
}

machine() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}

write_layout() {
  local config manifest
  printf '{"architecture":"%s","os":"linux","created":"%s","config":{"User":"0:0","Env":["PATH=/usr/bin"],%s},%s}' \
    "$(machine)" "$EPOCH" \
    '"Cmd":["galen-agent"],"Labels":{"org.opencontainers.image.title":"galen","org.opencontainers.image.version":"'"$VERSION"'"}' \
    "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:${diffs[0]}\",\"sha256:${diffs[1]}\"]}" >"$WORK/config"
  config=$(keep "$WORK/config")
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s},"layers":[%s},%s}]}' \
    "$(descriptor config.v1+json "$config")" "$(descriptor layer.v1.tar+gzip "${layers[0]}")" \
    "$(descriptor layer.v1.tar+gzip "${layers[1]}")" >"$WORK/manifest"
  manifest=$(keep "$WORK/manifest")
  # The first name is containerd's, the second the standard's.
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,%s}]}' \
    "$(descriptor manifest.v1+json "$manifest")" \
    "\"annotations\":{\"io.containerd.image.name\":\"$NAME\",\"org.opencontainers.image.ref.name\":\"$VERSION\"}" \
    >"$WORK/layout/index.json"
  printf '{"imageLayoutVersion":"1.0.0"}' >"$WORK/layout/oci-layout"
  echo "sha256:$manifest" >"$WORK/digest"
}

# ---- what is in it -----------------------------------------------------------------------------

# element NAME VERSION SUPPLIER LICENCE PURL [CHECKSUM]
element() {
  printf '{"SPDXID":"SPDXRef-%s","name":"%s","versionInfo":"%s","supplier":"%s","downloadLocation":"NOASSERTION",' \
    "${1//[^A-Za-z0-9.-]/-}" "$1" "$2" "${3//\"/}"
  printf '"filesAnalyzed":false,"licenseConcluded":"NOASSERTION","licenseDeclared":"NOASSERTION","copyrightText":"NOASSERTION",'
  [[ -z ${5:-} ]] || printf '"checksums":[{"algorithm":"SHA256","checksumValue":"%s"}],' "$5"
  printf '"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"%s"}]}' "$4"
}

# SPDX 2.3 of the image, of its programs and of each Debian package that has a library in it.
write_sbom() {
  local digest=$1 elements relations package version supplier program sum
  elements=$(element galen "$VERSION" "Organization: Galen" "pkg:oci/galen@$digest" "${digest#sha256:}")
  relations='{"spdxElementId":"SPDXRef-DOCUMENT","relationshipType":"DESCRIBES","relatedSpdxElement":"SPDXRef-galen"}'
  contains() { relations+=",{\"spdxElementId\":\"SPDXRef-galen\",\"relationshipType\":\"CONTAINS\",\"relatedSpdxElement\":\"SPDXRef-${1//[^A-Za-z0-9.-]/-}\"}"; }
  for program in "${PROGRAMS[@]}"; do
    sum=$(sha "$WORK/programs/usr/bin/$program")
    elements+=,$(element "usr/bin/$program" "$VERSION" "Organization: Galen" "pkg:generic/$program@$VERSION" "$sum")
    contains "usr/bin/$program"
  done
  while read -r package; do
    version=$(dpkg-query -W -f='${Version}' "$package")
    supplier=$(dpkg-query -W -f='${Maintainer}' "$package" | sed 's/ <\(.*\)>/ (\1)/')
    # A plus and a colon of a version have a meaning in a package's address.
    elements+=,$(element "$package" "$version" "Organization: $supplier" \
      "pkg:deb/debian/$package@$(sed 's/+/%2B/g; s/:/%3A/g' <<<"$version")?arch=$(dpkg --print-architecture)&distro=debian-12")
    contains "$package"
  done <"$WORK/packages"
  printf '{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT","name":"galen-%s",' "$VERSION"
  printf '"documentNamespace":"https://galen.dev/spdx/%s","creationInfo":{"created":"%s","creators":["Tool: galen-image-%s"]},' \
    "${digest#sha256:}" "$EPOCH" "$VERSION"
  printf '"packages":[%s],"relationships":[%s]}\n' "$elements" "$relations"
}

main() {
  local size
  mkdir -p "$OUT" "$WORK"/{libraries,programs} "$WORK/layout/blobs/sha256"
  fill_libraries "$WORK/libraries"
  fill_programs "$WORK/programs"
  add_layer libraries
  add_layer programs
  write_layout
  archive "$WORK/layout" >"$WORK/galen.tar"
  size=$(stat -c %s "$WORK/galen.tar")
  ((size <= BYTES_MAX)) || die "the image has $size bytes, more than $BYTES_MAX"
  write_sbom "$(cat "$WORK/digest")" >"$WORK/galen.spdx.json"
  # Both or neither: one that does not belong to the other would be a lie. What can fail, as on a full
  # disk, is the copying; then nothing has the names yet.
  cp "$WORK/galen.tar" "$OUT/galen.tar.new"
  cp "$WORK/galen.spdx.json" "$OUT/galen.spdx.json.new"
  mv "$OUT/galen.spdx.json.new" "$OUT/galen.spdx.json"
  mv "$OUT/galen.tar.new" "$OUT/galen.tar"
  printf '%s\n' "$OUT/galen.tar: $NAME, $(cat "$WORK/digest"), $((size / 1000)) kB" \
    "$OUT/galen.spdx.json: $(wc -l <"$WORK/packages") Debian packages, ${#PROGRAMS[@]} programs"
}

main
