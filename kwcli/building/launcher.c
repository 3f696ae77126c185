/* The beginning of the file that `python -m kwcli.building binary` makes: unpacks kw and its Python once, and runs it.

   The packed tree stands behind this program. It is unpacked to ~/.cache/kw/ID ($XDG_CACHE_HOME, or a folder of the
   user in $TMPDIR or /tmp), where ID is the digest of the tree. The folder is for its owner only (mode 0700); one that
   belongs to somebody else, or that others may write, is not used. A tree gets its name when it is whole. In a folder
   for temporary files, which are swept, its files and their sizes are counted at each start: what is not whole is
   unpacked anew.

   behind the program:  tree (zlib) | "KWTREE01" | size of tree | files | bytes of all files | ID (32 hexadecimal digits)
   in the tree:         length of path | mode | size (little-endian, 4, 4 and 8 bytes) | path | content; ends with 0 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define ID_SIZE 32
struct trailer {
    char magic[8];
    uint64_t size, files, bytes;
    char id[ID_SIZE];
};

static uint64_t files_found, bytes_found;
static int is_swept; /* the trees are in a folder for temporary files */

static void fail(const char *what, const char *path) {
    fprintf(stderr, "kw: %s%s%s: %s\n", what, *path ? " " : "", path, errno ? strerror(errno) : "damaged file");
    exit(1);
}

static void join(char *out, const char *folder, const char *name) {
    if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        fail("cannot use", folder);
    }
}

static int count_file(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)path, (void)at;
    if (kind == FTW_F) {
        files_found++;
        bytes_found += status->st_size;
    }
    return 0;
}

static int delete_file(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    remove(path);
    return 0;
}

/* Whether a folder is there, of this user alone. */
static int is_private(const char *path) {
    struct stat status;
    return !lstat(path, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

static int is_whole(const char *path, const struct trailer *trailer) {
    files_found = bytes_found = 0;
    if (!is_swept) return is_private(path);
    return is_private(path) && !nftw(path, count_file, 16, FTW_PHYS) && files_found == trailer->files &&
           bytes_found == trailer->bytes;
}

static int make_folders(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        int made = mkdir(path, 0700);
        *at = '/';
        if (made && errno != EEXIST && errno != EISDIR && errno != EROFS) return -1;
    }
    return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
}

/* The folder that holds the trees; a folder for temporary files where there is no home that can be written. */
static void find_cache(char *out) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *temporary = getenv("TMPDIR");
    char name[64];
    if (cache && *cache == '/') {
        join(out, cache, "kw");
        if (!make_folders(out) && is_private(out) && !access(out, W_OK)) return;
    }
    if (home && *home == '/') {
        join(out, home, ".cache/kw");
        if (!make_folders(out) && is_private(out) && !access(out, W_OK)) return;
    }
    is_swept = 1;
    snprintf(name, sizeof name, "kw-%lu", (unsigned long)geteuid());
    join(out, temporary && *temporary == '/' ? temporary : "/tmp", name);
    if (make_folders(out)) fail("cannot make", out);
    errno = EPERM;
    if (!is_private(out)) fail("others can write, or own,", out);
}

static z_stream stream;
static unsigned char piece[1 << 16];
static int source;
static uint64_t left;

static void read_tree(void *out, size_t size) {
    stream.next_out = out;
    stream.avail_out = size;
    while (stream.avail_out) {
        if (!stream.avail_in) {
            ssize_t got = read(source, piece, left < sizeof piece ? left : sizeof piece);
            if (got <= 0) fail("cannot read the packed files", "");
            left -= got;
            stream.next_in = piece;
            stream.avail_in = got;
        }
        errno = 0;
        int state = inflate(&stream, Z_NO_FLUSH);
        if (state != Z_OK && !(state == Z_STREAM_END && !stream.avail_out)) fail("cannot unpack", "");
    }
}

static void unpack(const char *folder) {
    static unsigned char content[1 << 16];
    char name[PATH_MAX], path[PATH_MAX];
    if (inflateInit(&stream) != Z_OK) fail("cannot unpack", "");
    for (;;) {
        uint32_t head[2];
        uint64_t size;
        read_tree(&head[0], 4);
        if (!head[0]) return;
        if (head[0] >= PATH_MAX) fail("cannot unpack", "");
        read_tree(&head[1], 4);
        read_tree(&size, 8);
        read_tree(name, head[0]);
        name[head[0]] = 0;
        join(path, folder, name);
        char *slash = strrchr(path, '/');
        *slash = 0;
        if (make_folders(path)) fail("cannot make", path);
        *slash = '/';
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL, head[1]);
        if (file < 0) fail("cannot write", path);
        while (size) {
            size_t part = size < sizeof content ? size : sizeof content;
            read_tree(content, part);
            if (write(file, content, part) != (ssize_t)part) fail("cannot write", path);
            size -= part;
        }
        if (close(file)) fail("cannot write", path);
    }
}

int main(int count, char **words) {
    struct trailer trailer;
    char cache[PATH_MAX], tree[PATH_MAX], part[PATH_MAX], name[ID_SIZE + 32], python[PATH_MAX];
    source = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    off_t end = source < 0 ? -1 : lseek(source, -(off_t)sizeof trailer, SEEK_END);
    if (end < 0 || read(source, &trailer, sizeof trailer) != sizeof trailer) fail("cannot read", words[0]);
    errno = 0;
    if (memcmp(trailer.magic, "KWTREE01", 8) || trailer.size > (uint64_t)end) fail("nothing is packed in", words[0]);
    find_cache(cache);
    snprintf(name, sizeof name, "%.*s", ID_SIZE, trailer.id);
    join(tree, cache, name);
    if (!is_whole(tree, &trailer)) {
        snprintf(name, sizeof name, "%.*s.%ld", ID_SIZE, trailer.id, (long)getpid());
        join(part, cache, name);
        nftw(part, delete_file, 16, FTW_DEPTH | FTW_PHYS);
        left = trailer.size;
        lseek(source, end - (off_t)trailer.size, SEEK_SET);
        if (make_folders(part)) fail("cannot make", part);
        unpack(part);
        if (rename(part, tree)) { /* one is there: it is not whole, or another process was faster */
            if (!is_whole(tree, &trailer)) {
                nftw(tree, delete_file, 16, FTW_DEPTH | FTW_PHYS);
                rename(part, tree);
            }
            nftw(part, delete_file, 16, FTW_DEPTH | FTW_PHYS);
            if (!is_whole(tree, &trailer)) fail("cannot unpack to", tree);
        }
    }
    close(source);
    join(python, tree, "bin/python3");
    char **given = calloc(count + 5, sizeof *given);
    given[0] = python;
    given[1] = "-I";
    given[2] = "-B"; /* the tree has all its compiled modules, and stays as it was packed */
    given[3] = "-m";
    given[4] = "kwcli";
    memcpy(given + 5, words + 1, (count - 1) * sizeof *given);
    execv(python, given);
    fail("cannot run", python);
}
