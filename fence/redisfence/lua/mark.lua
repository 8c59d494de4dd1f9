return answer('done')
